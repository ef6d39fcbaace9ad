"""Load generators that know no tokens (k6, Locust, wrk, hey, ab, oha, vegeta, perf_analyzer): known, and not read.

What they time is a request as a whole, or the headers of a stream: neither lengths nor first tokens can be told from
their files, so that there is nothing to compare. The sentence says where their figures go.
"""

import re

from collectors.benchmarks.csv_columns import latency_column
from collectors.benchmarks.documents import Document
from collectors.benchmarks.records import Imported
from collectors.errors import NotAResultFile

FORMAT = "load generator of HTTP"
FILE = ""  # nothing of them is read
PRIORITY = 115  # the lowest is asked first: see reader.Tool
ENGINE = None

_TEXTS = {
    "k6": re.compile(r"http_req_duration[.\s]*:\s*avg="),
    "Locust": re.compile(r"(^|\n)\s*(Type,Name,Request Count,Failure Count|Type\s+Name\s+# reqs\s+# fails)"),
    "wrk": re.compile(r"Running \S+ test @ .*\n\s*\d+ threads and \d+ connections"),
    "hey": re.compile(r"Summary:\n\s+Total:.*\n\s+Slowest:"),
    "oha": re.compile(r"Summary:\n\s+Success rate:"),
    "ab": re.compile(r"This is ApacheBench"),
    "perf_analyzer": re.compile(r"(^|,|\n)Inferences/Second,Client Send,|\*\*\* Measurement Settings \*\*\*"),
    "vegeta": re.compile(r"Requests\s+\[total, rate(, throughput)?\]"),
}
"""What each prints, by its name."""
_LOCUST = {"num_requests", "num_none_requests", "response_times"}


def detect(document: Document) -> bool:
    """What they print, or the keys of their files."""
    return _tool(document) is not None


def _tool(document: Document) -> str | None:
    if document.kind == "text":
        return next((name for name, sign in _TEXTS.items() if sign.search(document.text)), None)
    if {"metrics", "root_group"} <= document.first.keys() or document.first.get("type") in ("Metric", "Point"):
        return "k6"
    if document.first.keys() >= _LOCUST:
        return "Locust"
    return "vegeta" if {"latencies", "bytes_in", "status_codes"} <= document.first.keys() else None


def parse(document: Document) -> Imported:
    """Raises NotAResultFile with what is missing and what to do."""
    raise NotAResultFile(
        f"{document.name} is of {_tool(document)}, which counts requests and no tokens: write its rate and latencies "
        f"(requests_per_s, {latency_column('e2e', 'p50')}) with the mean lengths (isl_tokens, osl_tokens) into the CSV "
        "(docs/BENCHMARK_CSV.md)."
    )
