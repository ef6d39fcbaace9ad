"""Traces that tools log and export: nested objects, spans, answers of APIs and what holds no requests."""

import json
from pathlib import Path

import pytest

from sizing.base.errors import InvalidTrace
from sizing.scenario.trace import read_trace
from tests.sizing.scenario.test_trace import spelled, written

AIPERF = [
    {
        "metadata": {"request_start_ns": 1_777_000_000_000_000_000 + second * 10**9, "benchmark_phase": phase},
        "metrics": {"input_sequence_length": {"value": 100}, "output_sequence_length": {"value": 20}},
    }
    for second, phase in ((0, "warmup"), (6, "profiling"), (10, "profiling"))
]
DYNAMO = [
    {
        "schema": "dynamo.request.trace.v1",
        "request": {"request_received_ms": 1_777_000_000_000 + ms, "input_tokens": 100, "output_tokens": 20},
    }
    for ms in (0, 4000)
]
ANSWERS = [
    {"created": 1_700_000_000 + second, "usage": {"prompt_tokens": 100, "completion_tokens": 20}} for second in (0, 4)
]


BATCH: list[dict[str, object]] = [
    {"custom_id": "a", "response": {"status_code": 200, "body": answer}, "error": None} for answer in ANSWERS
]
BATCH += [{"custom_id": "b", "response": None, "error": {"code": "x"}}]
BEDROCK = [
    {
        "schemaType": "ModelInvocationLog",
        "timestamp": f"2025-01-01T00:00:0{second}Z",
        "input": {"inputTokenCount": 100},
        "output": {"outputTokenCount": 20},
    }
    for second in (0, 4)
]
GEMINI = [
    {
        "createTime": f"2025-01-01T00:00:0{second}Z",
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5},
    }
    for second in (0, 4)
]


def span(second: int, **attributes: int) -> dict[str, object]:
    listed = [{"key": f"gen_ai.usage.{key}", "value": {"intValue": str(value)}} for key, value in attributes.items()]
    return {"startTimeUnixNano": str((1_700_000_000 + second) * 10**9), "attributes": listed}


def exported(*spans: dict[str, object]) -> dict[str, object]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


OTLP = [
    exported(span(0, input_tokens=100, output_tokens=20), span(1)),
    exported(span(4, prompt_tokens=100, completion_tokens=20)),
]
NESTED = {
    "aiperf": AIPERF,
    "dynamo": DYNAMO,
    "answers": ANSWERS,
    "batch": BATCH,
    "bedrock": BEDROCK,
    "gemini": GEMINI,
    "otlp": OTLP,
}


@pytest.mark.parametrize("rows", NESTED.values(), ids=NESTED)
@pytest.mark.parametrize("as_list", [True, False])
def test_nested_objects_of_tools_are_requests(tmp_path: Path, rows: list[dict[str, object]], as_list: bool) -> None:
    text = json.dumps(rows) if as_list else "\n".join(map(json.dumps, rows))
    trace = read_trace(written(tmp_path, text, "trace.json" if as_list else "trace.jsonl"))
    assert trace.time_s.tolist() == pytest.approx([0.0, 4.0], abs=1e-6)
    assert trace.tokens.tolist() == [[100, 100], [20, 20], [0, 0]]


CACHED = {
    "anthropic": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30}},
    "responses": {"usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}}},
    "langfuse": {"usageDetails": {"input": 40, "input_cached_tokens": 60, "output": 20, "total": 120}},
    "litellm": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "metadata": {"usage_object": {"prompt_tokens_details": {"cached_tokens": 60}}},
    },
}


@pytest.mark.parametrize("row", CACHED.values(), ids=CACHED)
def test_cached_tokens_are_part_of_the_input_whoever_counts_them(tmp_path: Path, row: dict[str, object]) -> None:
    usage = row.get("usage")
    stated = row | ({"usage": {**usage, "output_tokens": 20}} if isinstance(usage, dict) else {})
    rows = [{"created_at": 1_700_000_000 + second, **stated} for second in (0, 4)]
    trace = read_trace(written(tmp_path, json.dumps(rows), "log.json"))
    assert trace.tokens.tolist() == [[100, 100], [20, 20], [60, 60]]


def test_an_export_over_several_lines_is_read_as_a_whole(tmp_path: Path) -> None:
    usage = {"input": 100, "output": 20, "total": 120, "unit": "TOKENS"}
    rows = [{"type": "GENERATION", "startTime": f"2025-01-01T00:00:0{k}.000Z", "usage": usage} for k in (0, 4)]
    rows.append({"type": "SPAN", "startTime": "2025-01-01T00:00:05Z", "usageDetails": {}})
    tags = [{"key": "gen_ai.usage.prompt_tokens", "value": 100}, {"key": "gen_ai.usage.completion_tokens", "value": 20}]
    jaeger = [{"spans": [{"startTime": (1_700_000_000 + k) * 10**6, "tags": tags}]} for k in (0, 4)]
    for data in (rows, jaeger):
        trace = read_trace(written(tmp_path, json.dumps({"data": data, "meta": {}}, indent=1), "page.json"))
        assert trace.time_s.tolist() == [0.0, 4.0]
        assert trace.tokens.tolist() == [[100, 100], [20, 20], [0, 0]]


def test_counts_in_a_cell_and_rows_without_counts(tmp_path: Path) -> None:
    cell = '"{""input"":100,""output"":20}"'
    text = f'id,startTime,usageDetails\na,2025-01-01T00:00:00Z,{cell}\ns,2025-01-01T00:00:01Z,"{{}}"\n'
    trace = read_trace(written(tmp_path, text + f"b,2025-01-01T00:00:04Z,{cell}\n"))
    assert trace.tokens.tolist() == [[100, 100], [20, 20], [0, 0]]
    spans = spelled(0, 4, names="start_time,llm.token_count.prompt,llm.token_count.completion") + "5,,\n"
    trace = read_trace(written(tmp_path, spans))
    assert len(trace) == 2
    assert any("left out 1 row without token counts" in note for note in trace.notes)


def test_images_of_a_trace_are_said(tmp_path: Path) -> None:
    head = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
    text = head + "2024-10-15 00:00:00,3,900,20\n2024-10-15 00:00:04,0,9,2\n"
    assert any("3 images" in note for note in read_trace(written(tmp_path, text)).notes)


def test_a_letter_is_no_column_of_tokens(tmp_path: Path) -> None:
    with pytest.raises(InvalidTrace, match="lacks input_tokens"):
        read_trace(written(tmp_path, spelled(0, 4, names="timestamp,p,completion_tokens")))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {}}, "the output of the batch"),
        ({"timestamp": 0, "conversation": [{"role": "user", "content": "Hi"}]}, "without token counts"),
        ({"object": "bucket", "start_time": 1, "results": []}, "sums of usage"),
        ({"id": "a", "conversations": [{"from": "human", "value": "Hi"}]}, "holds texts of conversations"),
        ({"conversation": [{"role": "user", "content": "Hi"}]}, "holds texts of conversations"),
        ({"session_id": "a", "delay": 500, "input_length": 9, "output_length": 9}, "workload.sessions"),
        (["no object"], "is none of objects"),
    ],
)
def test_json_that_holds_no_times_says_what_it_holds(tmp_path: Path, row: object, said: str) -> None:
    with pytest.raises(InvalidTrace, match=said):
        read_trace(written(tmp_path, json.dumps([row]), "trace.json"))
