"""The Cost page: what the plan costs in every way to pay for it, over time and load, and what moves that."""
