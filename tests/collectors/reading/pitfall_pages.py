"""Pages and queries that the pitfalls of metrics are tried on."""

from collectors.vocabulary import engine_vocabularies
from collectors.vocabulary.detect import DetectedEngine
from collectors.vocabulary.expressions import distribution_queries, scalar_queries, scope_of
from collectors.vocabulary.schema import SCALARS
from tests.collectors.feeds import NOW, Feed, steady

ID = 'model_name="m",engine="0"'
BASE = (
    f"vllm:num_requests_running{{{ID}}} 8",
    f"vllm:num_requests_waiting{{{ID}}} 0",
    f"vllm:kv_cache_usage_perc{{{ID}}} 0.4",
)
START = NOW - 600


def vllm(*lines: str) -> Feed:
    return Feed({"a:8000": steady(*BASE, *lines)})


def every_expression() -> dict[str, str]:
    expressions: dict[str, str] = {}
    for v in engine_vocabularies().values():
        scope = scope_of({"job": "j"}, DetectedEngine(vocabulary=v, model_label=v.model_label), window_s=300)
        for key, concept in v.concepts.items():
            for i, use in enumerate(concept.use):
                make = scalar_queries if key in SCALARS else distribution_queries
                expressions |= {f"{v.id}/{q.subject.label}/{i}": q.expression for q in make(key, use, scope)}
    return expressions
