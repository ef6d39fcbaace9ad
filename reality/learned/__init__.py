"""Learned step times in the library: accepted by a person for a scenario, listed, undone."""
