"""Durations of one engine step, from several sources behind one interface."""
