"""``make prices``: list prices renewed from packages that carry them, shown as a difference before they are kept."""
