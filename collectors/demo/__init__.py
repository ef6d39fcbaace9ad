"""A demo deployment: the metrics pages of four vLLM replicas and their GPUs over a day with its incidents."""
