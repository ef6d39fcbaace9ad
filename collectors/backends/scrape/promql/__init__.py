"""The part of PromQL that the vocabularies use, answered from our own samples.

Ours, because direct scraping has no server that could answer, and expressions must mean the same in both ways of
reading: the PromQL packages on PyPI build, parse or send queries (looked through in November 2026), and Prometheus
itself is a program that a user of direct scraping does without. Every expression of every vocabulary is compared with a
real Prometheus in tests/collectors/backends/scrape/test_promql.py.
"""

from collectors.backends.scrape.promql.evaluate import evaluate
from collectors.backends.scrape.promql.parse import parse

__all__ = ["evaluate", "parse"]
