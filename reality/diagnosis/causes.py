"""What can make a difference between a plan and a deployment, and what of the circumstances each changes."""

from dataclasses import dataclass
from typing import Literal

Cause = Literal[
    "load",
    "prompts",
    "outputs",
    "cache_hits",
    "burstiness",
    "replicas",
    "kv_cache",
    "batch_limit",
    "routing",
    "slow_gpu",
    "weights",
    "engine",
    "unexplained",
]

FRONT_END = "front end"
"""What the engine as a cause is where not its steps take longer, but what takes requests in for it."""

FIELDS: dict[Cause, tuple[str, ...]] = {
    "load": ("rps",),
    "prompts": ("prompt",),
    "outputs": ("output",),
    "cache_hits": ("hits",),
    "burstiness": ("cv", "profile"),
    "replicas": ("replicas",),
    "kv_cache": ("kv_scale",),
    "batch_limit": ("batch_limit",),
    "routing": ("shares",),
    "slow_gpu": ("slowness",),
    "weights": ("row",),
    "engine": ("decode", "prefill", "intake"),
}
"""What of the circumstances each cause changes."""


@dataclass(frozen=True, kw_only=True)
class CauseDifference:
    """A cause that differs between plan and measurement: values for a sentence, and the relative standard error of the
    difference; ``subject``: which replica or GPU, ``since_s`` since when."""

    cause: Cause
    planned: float
    measured: float
    unit: str = ""
    error: float = 0.0
    subject: str | None = None
    since_s: float | None = None
    words: str = ""
