"""Plan against reality: what the traffic is, and what the plan's engine says about it, beside what is measured."""
