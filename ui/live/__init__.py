"""The Live page: what a deployment does now and did lately, beside what was planned."""
