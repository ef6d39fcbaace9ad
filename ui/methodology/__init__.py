"""The Methodology page: search, contents and chapters of :mod:`sizing.methodology`."""
