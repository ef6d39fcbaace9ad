"""The answer: the chosen deployment with its figures, intervals, reasons, warnings and sentences."""
