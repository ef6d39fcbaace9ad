"""The chain of real components: engine, load, Prometheus, collector (`make chain`)."""
