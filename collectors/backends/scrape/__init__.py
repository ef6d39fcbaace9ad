"""Metrics without a Prometheus: pages read directly, kept in a bounded ring on disk, asked the same way."""
