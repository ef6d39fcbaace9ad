"""One load on several GPU types: requests by the length of their prompts, and the cheapest whole systems for them."""
