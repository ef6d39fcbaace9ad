"""Money: what a deployment costs on premises, in a cloud, as a hybrid or behind an API, over time and per token."""
