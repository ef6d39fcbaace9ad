"""Prefill and decode in pools of their own: load model, search, results and simulation of disaggregated serving."""
