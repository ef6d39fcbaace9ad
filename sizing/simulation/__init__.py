"""Discrete-event simulation of a deployment under real traffic: percentiles, queues, goodput at the asked load."""
