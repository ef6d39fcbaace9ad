"""Beyond one answer: latency against throughput, inverse questions, length map, shared pools, sweeps."""
