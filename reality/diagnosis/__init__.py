"""Does the deployment keep its limits, what made the difference to the plan, and what would help."""
