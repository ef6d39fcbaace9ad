"""Answers to PromQL: a Prometheus behind a cache, or our own ring of scrapes."""
