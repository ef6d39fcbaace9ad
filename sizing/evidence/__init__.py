"""Published measurements: what each protocol measures, what is predicted for it, and how far predictions are off."""
