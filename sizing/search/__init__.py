"""Which deployments, and how many instances: screen, batch limits, pools, ranking, simulation of the best few."""
