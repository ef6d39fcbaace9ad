"""Units: how many of one make another, and the quantiles of the normal distribution that intervals are made with.

Inside the engine everything is in seconds, bytes, tokens, watts and USD; these turn it into what is asked and shown.
"""

# Definitions, and a year of 365 days.
MS_PER_S = 1e3
S_PER_MS = 1e-3
S_PER_MINUTE = 60.0
S_PER_HOUR = 3600.0
S_PER_DAY = 86_400.0
HOURS_PER_DAY = 24.0
HOURS_PER_YEAR = 8760.0
MONTHS_PER_YEAR = 12.0
HOURS_PER_MONTH = 730.0
"""A twelfth of a year of 8,760 hours, as cloud providers bill."""
DAYS_PER_WEEK = 7.0
DAYS_PER_MONTH = HOURS_PER_MONTH / HOURS_PER_DAY
"""Every day counts: a twelfth of 365."""

# Powers of ten by their English names.
THOUSAND = 1e3
MILLION = 1e6
BILLION = 1e9
TRILLION = 1e12

GB = BILLION
"""Bytes in a gigabyte."""
GIB = 2**30
"""Bytes in a gibibyte, in which runtimes and memory chips count, and many GPUs their "GB"."""
MIB = 2**20
"""Bytes in a mebibyte."""
W_PER_KW = THOUSAND
G_PER_KG = THOUSAND
PERCENT = 100.0
"""Percent in a whole."""

ONE_SIDED_95 = 1.6448536269514722
"""Standard normal quantile at 95 %: 5 % lie above it."""
TWO_SIDED_80 = 1.2815515655446004
"""Half width of the central 80 % of a standard normal, its quantile at 90 %: what every interval of an answer is."""
TWO_SIDED_95 = 1.96
"""Half width of the central 95 % of a standard normal, its quantile at 97.5 %, to the usual three digits."""
