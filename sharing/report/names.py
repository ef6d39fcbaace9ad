"""What things of the catalogue are called; what it does not have is called by its id."""

from sizing.base.choices import DecidedBy
from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.decision.text import name_of
from sizing.question.understand import Question

ORIGIN: dict[DecidedBy, str] = {"simulation": "simulated", "analytic": "estimate", "measured": "measured"}
"""Where instances and latency of a deployment come from, in a word."""


def titled(key: str) -> str:
    """An input as people call it, at the start of a line: its acronyms stay as they are."""
    name = name_of(key)
    return name[:1].upper() + name[1:]


def gpu_name(key: str, question: Question | None = None) -> str:
    """A GPU, of the catalogue or of the scenario's own."""
    if question is not None:
        return question.gpu_name(key)
    return gpus()[key].name if key in gpus() else key


def engine_name(key: str) -> str:
    """A serving engine."""
    return engines()[key].label if key in engines() else key


def precision_name(key: str) -> str:
    """A number format of weights."""
    return precisions()[key].plain_label if key in precisions() else key


def kv_name(key: str) -> str:
    """A number format of the KV cache."""
    return {"fp8": "FP8", "fp16": "16 bit"}.get(key, key)
