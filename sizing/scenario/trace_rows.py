"""Objects of JSON traces as rows of a table: what tools nest (AIPerf, Dynamo, answers, spans) under our names.

Shapes: AIPerf 0.13 and Dynamo 1.6; answers of OpenAI (chat, responses, batches), Anthropic and Gemini; logs of LiteLLM
and Amazon Bedrock; spans of OpenTelemetry (``gen_ai.usage.*``, as vLLM writes them, too) and Jaeger; observations of
Langfuse, whose parts of the input do not overlap. Read in their documentation, 2026-11-30.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sizing.base.errors import InvalidTrace

Row = Mapping[str, Any]

TIMES = ("timestamp", "tstamp", "created", "created_at")
"""What rows call their time where they may hold texts alone."""
_INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_OUTPUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
_CACHED = ("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read")
"""Attributes of spans with the tokens of a request: OpenTelemetry, its names before 2025, OpenInference."""


def requests_in(row: Row, name: str) -> Iterator[Row]:
    """The requests of one object, none where it is no request of the load. Raises InvalidTrace for no trace at all."""
    if isinstance(row.get("resourceSpans"), list):
        yield from filter(None, (_of_span(span) for span in _spans_within(row)))
    elif isinstance(row.get("data"), list):
        for item in row["data"]:
            if isinstance(item, Mapping):
                yield from requests_in(item, name)
    elif isinstance(row.get("spans"), list):
        yield from filter(None, (_of_span(span) for span in row["spans"] if isinstance(span, Mapping)))
    elif (request := _flat(row, name)) is not None:
        yield request


def _flat(row: Row, name: str) -> Row | None:
    _refuse_what_has_no_requests(row, name)
    if isinstance(row.get("metadata"), Mapping) and "request_start_ns" in row["metadata"]:
        return _of_aiperf(row)
    if str(row.get("schema", "")).startswith("dynamo.request.trace"):
        return _of_dynamo(row)
    if "custom_id" in row and "response" in row:
        answer = row["response"].get("body") if isinstance(row["response"], Mapping) else None
        return _flat(answer, name) if isinstance(answer, Mapping) and "usage" in answer else None
    if row.get("schemaType") == "ModelInvocationLog":
        sent, generated = (_within(row, side).get(f"{side}TokenCount") for side in ("input", "output"))
        return _counted(row, sent, generated, None)
    for key, read in _USAGES.items():
        if isinstance(row.get(key), Mapping):
            return read(row, row[key])
    return _of_litellm(row)


def _refuse_what_has_no_requests(row: Row, name: str) -> None:
    """Texts, inputs of batches, turns without times and sums over hours. Raises InvalidTrace."""
    texts = (row.get(key) for key in ("conversations", "conversation", "conversation_a"))
    if any(isinstance(text, list) for text in texts):
        lacking = "without token counts" if any(key in row for key in TIMES) else "with neither times nor token counts"
        raise InvalidTrace(
            [
                f"{name} holds texts of conversations, {lacking}: count the tokens of each request, or state lengths "
                "and a rate."
            ]
        )
    if {"custom_id", "method", "url"} <= row.keys():
        raise InvalidTrace(
            [
                f"{name} is the input of a batch, texts with neither times nor token counts: give the output of the "
                "batch, whose answers have both."
            ]
        )
    if isinstance(row.get("results"), list) and "start_time" in row:
        raise InvalidTrace(
            [f"{name} holds sums of usage over hours or days, no requests: export single requests, or state a rate."]
        )
    if "delay" in row and "timestamp" not in row:
        raise InvalidTrace(
            [
                f"{name} has turns that begin a delay after the answer before, so that no replay knows their times: "
                "give a timestamp for each, or describe them as workload.sessions."
            ]
        )


def _within(row: Row, key: str) -> Row:
    """The object under a key; an empty one where there is none."""
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


def _counted(row: Row, sent: Any, generated: Any, cached: Any) -> Row:
    """The other keys of an object, one of which is its time, beside its token counts."""
    nested = {key: value for key, value in row.items() if not isinstance(value, Mapping | list)}
    return {**nested, "prompt_tokens": sent, "completion_tokens": generated, "cached_tokens": cached or 0}


def _of_aiperf(row: Row) -> Row | None:
    """A line of AIPerf's records: nanoseconds since 1970 and metrics with units; warm-up and failures are no load."""
    metadata, metrics = row["metadata"], row.get("metrics")
    if metadata.get("benchmark_phase") not in (None, "profiling") or not isinstance(metrics, Mapping):
        return None

    def counted(*names: str) -> Any:
        blocks = (metrics.get(name) for name in names)
        return next((block.get("value") for block in blocks if isinstance(block, Mapping)), None)

    return {
        "timestamp": metadata["request_start_ns"],
        "input_tokens": counted("usage_prompt_tokens", "input_sequence_length"),
        "output_tokens": counted("usage_completion_tokens", "output_sequence_length"),
        "cached_tokens": counted("usage_prompt_cache_read_tokens") or 0,
    }


def _of_dynamo(row: Row) -> Row | None:
    """A finished request of Dynamo's request trace; other events of it are no requests."""
    request = row.get("request")
    if not isinstance(request, Mapping):
        return None
    return {
        "timestamp": request.get("request_received_ms", row.get("event_time_unix_ms")),
        "input_tokens": request.get("input_tokens"),
        "output_tokens": request.get("output_tokens"),
        "cached_tokens": request.get("cached_tokens") or 0,
    }


def _of_answer(row: Row, usage: Row) -> Row | None:
    """An answer of an API: OpenAI counts cached tokens among the input, Anthropic beside it."""
    if "input" in usage and "input_tokens" not in usage:
        return _of_parts(row, usage)
    details = _within(usage, "prompt_tokens_details") or _within(usage, "input_tokens_details")
    sent = usage.get("prompt_tokens", usage.get("input_tokens"))
    beside = [usage.get(key) or 0 for key in ("cache_read_input_tokens", "cache_creation_input_tokens")]
    if "prompt_tokens" not in usage and any(beside) and isinstance(sent, int):
        return _counted(row, sent + sum(beside), usage.get("output_tokens"), beside[0])
    cached = details.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    return _counted(row, sent, usage.get("completion_tokens", usage.get("output_tokens")), cached)


def _of_parts(row: Row, usage: Row) -> Row | None:
    """An observation of Langfuse: its input is the sum of parts, cached ones among them; others are no requests."""
    counts = {str(key): value for key, value in usage.items() if isinstance(value, int | float)}
    cached = sum(value for key, value in counts.items() if "cache" in key and "creation" not in key)
    sent = sum(value for key, value in counts.items() if key.startswith("input") or "cache" in key)
    generated = sum(value for key, value in counts.items() if key.startswith("output"))
    return _counted(row, sent, generated, cached) if sent else None


def _of_gemini(row: Row, usage: Row) -> Row:
    generated = (usage.get("candidatesTokenCount") or 0) + (usage.get("thoughtsTokenCount") or 0)
    return _counted(row, usage.get("promptTokenCount"), generated, usage.get("cachedContentTokenCount"))


_USAGES = {"usageDetails": _of_parts, "usage_details": _of_parts, "usage": _of_answer, "usageMetadata": _of_gemini}
"""Where an object holds its token counts, and who writes it so."""


def _of_litellm(row: Row) -> Row:
    """A payload of LiteLLM's loggers, whose cached tokens stand in ``metadata``; anything else as it is."""
    details = _within(_within(_within(row, "metadata"), "usage_object"), "prompt_tokens_details")
    if "prompt_tokens" not in row or "cached_tokens" not in details:
        return row
    return {**row, "cached_tokens": details["cached_tokens"] or 0}


def _spans_within(row: Row) -> Iterator[Row]:
    """The spans of OTLP in JSON: of all resources and scopes."""
    for resource in row["resourceSpans"]:
        scopes = resource.get("scopeSpans") if isinstance(resource, Mapping) else None
        for scope in scopes if isinstance(scopes, list) else ():
            spans = scope.get("spans") if isinstance(scope, Mapping) else None
            yield from (span for span in spans if isinstance(span, Mapping)) if isinstance(spans, list) else ()


def _of_span(span: Row) -> Row | None:
    """A span that counts tokens: its start since 1970, in ns (OTLP) or us (Jaeger); other spans are no requests."""
    listed = span.get("attributes", span.get("tags"))
    values = {str(one.get("key")): _value(one.get("value")) for one in listed or () if isinstance(one, Mapping)}
    sent, generated, cached = (
        next((values[key] for key in names if values.get(key) is not None), None)
        for names in (_INPUT, _OUTPUT, _CACHED)
    )
    if sent is None:
        return None
    time = span.get("startTimeUnixNano", span.get("startTime"))
    return {"timestamp": time, "prompt_tokens": sent, "completion_tokens": generated, "cached_tokens": cached or 0}


def _value(value: Any) -> Any:
    """A value of OTLP, which names its type: {"intValue": "100"}."""
    return next(iter(value.values()), None) if isinstance(value, Mapping) else value
