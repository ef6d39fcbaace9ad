"""What step times give under load: steady state of in-flight batching, capacity within limits, pools."""
