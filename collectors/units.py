"""Units: how many of one make another. Metrics and files come in any; we hold seconds, milliseconds and bytes."""

# Definitions: nothing here is chosen but the last.
MS_PER_S = 1e3
S_PER_MINUTE = 60.0
S_PER_HOUR = 3600.0
S_PER_DAY = 86_400.0
GB = 1e9
"""Bytes in a gigabyte, as datasheets print it."""
MIB = 1 << 20

ROUNDING = 1e-9
"""What float arithmetic may leave of a whole number of steps. Chosen: because no line has a billion points."""
