"""The largest and smallest numbers that a scenario may hold and the engine computes with: beyond them a number is a
typing error."""

MIN_RPS = 1e-9
"""One request in thirty years: of rarer ones the clock of a simulation no longer tells the latency."""

MAX_RPS = 1_000_000
"""Requests/s. Chosen: because it is far above any published deployment."""

MAX_TOKENS = 10_000_000
"""Tokens of a prompt or an answer. Chosen: because the longest context window in the catalogue has about as many."""

MAX_USD = 1e9
"""USD of one system or accelerator. Chosen: because it is far above any price in the catalogue."""

MAX_CV = 20
"""Coefficient of variation of the gaps between arrivals. Chosen: because burstier arrivals are bursts, which are asked
for as such."""

LONGEST_NAME = 200
LONGEST_MODEL_NAME = 120
LONGEST_GPU_NAME = 80
LONGEST_SOURCE = 300
"""Characters of what people type, the same in files, forms and links. Chosen: what a report has room for."""
