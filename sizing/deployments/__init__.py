"""What could be deployed: GPU x engine x precision x parallelism, and whether it fits in memory."""
