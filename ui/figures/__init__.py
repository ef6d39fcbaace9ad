"""Figures: pure functions from an answer to a plotly figure, a table with the same numbers, and one sentence."""
