"""How the load was offered, when it was measured, and by which engine, as the tools write it."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from collectors.benchmarks.fields import Fields, number
from collectors.benchmarks.records import Mode
from collectors.errors import BadRow

EVEN_NOTE = "requests were sent at even intervals, not as a Poisson process"


@dataclass(frozen=True, kw_only=True)
class Load:
    """Mode with its concurrency or rate, and what to know about it."""

    mode: Mode | None = None
    concurrency: float | None = None
    rate_rps: float | None = None
    notes: tuple[str, ...] = ()


def rate_or_concurrency(fields: Fields) -> Load:
    """The load from ``request_rate`` and ``max_concurrency`` of vLLM and SGLang.

    An infinite rate sends as fast as it may: a closed loop with a cap on concurrency, everything at once without.
    """
    concurrency = fields.number("max_concurrency") or None
    asked = fields.values.get("request_rate")
    if asked in ("inf", "Infinity") or (isinstance(asked, float) and asked == math.inf):
        return Load(mode="fixed_concurrency" if concurrency else "offline", concurrency=concurrency)
    if asked == "trace":
        return Load(mode="fixed_rate", concurrency=concurrency, notes=("requests arrived as in a trace",))
    if asked is None:
        return Load(mode="fixed_concurrency" if concurrency else None, concurrency=concurrency)
    rate = number("request_rate", asked)
    if rate == 0:
        raise BadRow("request_rate is 0")
    notes = (capped_note(concurrency),) if concurrency else ()
    return Load(mode="fixed_rate", concurrency=concurrency, rate_rps=rate, notes=notes)


def capped_note(concurrency: float) -> str:
    """What a cap on concurrency does to an open loop."""
    return f"at most {concurrency:g} requests were in flight: the rate is held back while that many are"


def moment(value: object) -> datetime | None:
    """Unix seconds, an ISO date or vLLM's 20261120-234051, as UTC; None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, tz=UTC)
        if not isinstance(value, str):
            return None
        if len(value) == 15 and value[8] == "-":
            return datetime.strptime(value, "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
        parsed = datetime.fromisoformat(value)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


# Names that say which engine answered; "openai" and "chat" name only the protocol.
_ENGINES = {
    "sglang": "sglang",
    "vllm": "vllm",
    "tensorrt": "trtllm",
    "trt": "trtllm",
    "lmdeploy": "lmdeploy",
    "tgi": "tgi",
}


def engine_of(backend: str | None) -> str | None:
    """The engine behind a client's backend name, None where it names only a protocol."""
    lower = (backend or "").lower()
    return next((engine for mark, engine in _ENGINES.items() if lower.startswith(mark)), None)
