"""How long tests wait for something to come about."""

PATIENCE_S = 180.0
"""Chosen: far beyond what anything takes on a busy machine; only a failure waits for it."""
PATIENCE_MS = 1e3 * PATIENCE_S
