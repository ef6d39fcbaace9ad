"""What the process says of itself: logs that a machine reads, and its own figures for Prometheus."""
