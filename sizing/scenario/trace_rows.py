"""Objects of JSON traces as rows of a table: what tools nest (AIPerf, Dynamo, answers of an API) under our names."""

from collections.abc import Mapping
from typing import Any

from sizing.base.errors import InvalidTrace

Row = Mapping[str, Any]


def flat(row: Row, name: str) -> Row | None:
    """One object as a row; None for one that is no request of the load. Raises InvalidTrace for no trace at all.

    AIPerf's ``profile_export.jsonl`` and Dynamo's request trace nest what they measured; answers of an OpenAI API and
    logs of gateways hold ``usage``.
    """
    if isinstance(row.get("metadata"), Mapping) and "request_start_ns" in row["metadata"]:
        return _of_aiperf(row)
    if str(row.get("schema", "")).startswith("dynamo.request.trace"):
        return _of_dynamo(row)
    if isinstance(row.get("usage"), Mapping):
        return _of_answer(row)
    if isinstance(row.get("conversations", row.get("conversation")), list):
        raise InvalidTrace(
            [
                f"{name} holds texts of conversations, with neither times nor token counts: count the tokens of each "
                "request, or state lengths and a rate."
            ]
        )
    if "delay" in row and "timestamp" not in row:
        raise InvalidTrace(
            [
                f"{name} has turns that begin a delay after the answer before, so that no replay knows their times: "
                "give a timestamp for each, or describe them as workload.sessions."
            ]
        )
    return row


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


def _of_answer(row: Row) -> Row:
    """An answer of an OpenAI API: its usage beside the other keys, one of which is its time."""
    usage = row["usage"]
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    return {
        **{key: value for key, value in row.items() if key != "usage"},
        "input_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
        "output_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
        "cached_tokens": cached or 0,
    }
