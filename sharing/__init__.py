"""Scenarios that travel: the library that keeps them, and the files they leave in. Knows the engine, no page."""
