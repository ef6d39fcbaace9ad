"""Scheduled comparisons of a scenario with its source: kept in the library, told to a webhook."""
