"""The discrete-event engine: replicas under a stream of requests, compiled; knows nothing of plans."""
