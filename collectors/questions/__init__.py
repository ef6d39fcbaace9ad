"""What is asked of a source beyond one observation: history, devices, deployments, XID errors."""
