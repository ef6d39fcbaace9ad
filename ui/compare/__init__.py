"""The Compare page: the scenario beside variants of it, what differs, and what drives the difference."""
