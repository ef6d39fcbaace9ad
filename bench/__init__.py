"""Benchmarks: how fast the product is. They print a table and never fail: `make bench`.

Each module here that has a ``NAME`` and a ``run() -> list[Row]`` is one benchmark.
"""
