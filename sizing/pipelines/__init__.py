"""Stages beside the language model: what a batch of them takes, how many GPUs they need, how long a request waits."""
