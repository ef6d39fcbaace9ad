"""The part of PromQL that the vocabularies use, answered from our own samples."""

from collectors.backends.scrape.promql.evaluate import evaluate
from collectors.backends.scrape.promql.parse import parse

__all__ = ["evaluate", "parse"]
