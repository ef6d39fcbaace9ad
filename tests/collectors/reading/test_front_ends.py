"""What stands before engines is no replica: how many it routes to is what it says itself."""

import pytest

from collectors.format import sentence
from collectors.reading.remarks import Names
from tests.collectors.feeds import Feed, histogram, steady

FRONT = [
    'dynamo_frontend_inflight_requests{model="m"} 12',
    'dynamo_frontend_queued_requests{model="m"} 1',
    'dynamo_frontend_requests_started_total{model="m"} @5',
    'dynamo_frontend_output_tokens_total{model="m"} @900',
    *histogram("dynamo_frontend_time_to_first_token_seconds", {0.1: 2.0, 0.5: 5.0}, 1.0, 'model="m"'),
]
WORKERS = [
    f'dynamo_frontend_worker_active_decode_blocks{{worker_id="{i}",dp_rank="{rank}",worker_type="{kind}"}} 100'
    for i, kind in enumerate(("decode", "decode", "decode", "prefill"))
    for rank in range(2)
]
POOL = ["llm_d_epp_ready_endpoints 4", 'llm_d_epp_request_total{model_name="m"} @3', "llm_d_epp_average_queue_size 0"]


@pytest.mark.parametrize(
    ("pages", "replicas"),
    [
        ({"fe-0:8000": FRONT, "fe-1:8000": FRONT}, None),
        ({"fe-0:8000": [*FRONT, *WORKERS]}, 3.0),
        ({"epp:9090": POOL}, 4.0),
    ],
    ids=["two front ends", "workers by name", "a pool"],
)
def test_replicas_are_what_is_routed_to(pages: dict[str, list[str]], replicas: float | None) -> None:
    seen = Feed({address: steady(*lines) for address, lines in pages.items()}).read()
    assert seen.number("replicas") == replicas
    assert seen.number("replicas_lost") is None


def test_sentences_have_their_verb_and_unit() -> None:
    assert sentence("{a} {a:be} down", a=Names(["x"])) == "x is down"
    assert sentence("{a} {a:be} down", a=Names(["x", "y"])) == "x, y are down"
    assert sentence("{t:duration}", t=252_706.0) == "253 s"
    assert sentence("{t:duration}", t=252.7) == "253 ms"
