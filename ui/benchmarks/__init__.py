"""The Benchmarks page: import of result files, predicted against measured, and the evidence library."""
