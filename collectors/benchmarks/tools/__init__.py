"""The benchmark tools whose files are read: one module per tool and form of file, found by being here."""
