"""What is asked of a source: one expression with what is known about it, and for how long its answer serves."""
