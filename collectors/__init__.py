"""Live data: one observation of a running deployment, from any Prometheus-compatible API or straight from /metrics."""
