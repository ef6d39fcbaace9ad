"""One load on several fleets: requests by the length of their prompts, and the cheapest whole systems for them."""
