"""The plan under real traffic: a simulated hour, a trace, a failing instance, the instances over a day."""
