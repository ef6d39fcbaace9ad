"""How each engine divides the memory of a GPU, version by version: ``engine_memory.csv``.

What an engine leaves to its KV cache is a fraction of the memory less weights and what a step needs. The fraction, what
it is a fraction of, and how much a step needs changed with almost every year of vLLM.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from sizing.catalog.files import typed_rows

FractionOf = Literal["whole", "static", "free"]
"""What the fraction counts of: ``whole`` memory, less weights and what a step needs (vLLM); the memory free before
loading, less weights alone (``static``, SGLang); what is ``free`` after weights and activations (TensorRT-LLM)."""


EARLY = 0.3
"""Part of a year in which software is taken to be of which no month is known."""


@dataclass(frozen=True, kw_only=True)
class EngineMemory:
    """The rule of one engine ``since`` a version, which came out in ``year`` (decimal).

    ``fraction`` is its default; None where the engine chooses it by what it reserves. ``sampler_bytes`` are held per
    sequence and vocabulary entry while a first step is tried; ``outside_gib_N`` by driver context and communication on
    each of N GPUs (4: four and more). ``graphs_counted``: whether captured graphs are taken off the KV cache. Layers
    with a window keep, beyond it, the tokens of ``batches_in_flight`` steps; a sequence has ``state_blocks`` blocks of
    recurrent state; with ``windows_whole`` they keep all tokens beside layers without one. Where an engine has pools
    of their own: ``window_pool`` is the share of tokens for which window layers have room, ``state_pool`` the memory
    of states relative to that of the KV cache, of which a sequence takes ``states_per_sequence``.
    ``tokens_by_blocks``: whether the printed size of the cache is its blocks over the groups of layers, not contexts
    that fit. ``token_budget`` and ``max_sequences``: tokens of a step and sequences by GiB of memory where they were
    others than today's ("0:2048 70:8192"); ``prompts_apart``: whether a step that carries prompts carries nothing else,
    so that decoding sequences wait for it; ``vision_share``: of its own fraction, for models with an encoder.
    """

    engine: str
    since: str
    year: float | None
    fraction: float | None
    fraction_of: FractionOf
    sampler_bytes: float
    outside_gib_1: float
    outside_gib_2: float
    outside_gib_4: float
    graphs_counted: bool
    batches_in_flight: int
    state_blocks: int
    windows_whole: bool
    window_pool: float | None
    state_pool: float | None
    states_per_sequence: int | None
    tokens_by_blocks: bool
    token_budget: str
    max_sequences: str
    prompts_apart: bool
    vision_share: float | None
    source: str
    date: str

    def outside_gib(self, gpus: int) -> float:
        """GiB on each GPU of an instance that no allocator of the engine sees: driver context, communication."""
        return self.outside_gib_1 if gpus == 1 else self.outside_gib_2 if gpus < 4 else self.outside_gib_4


@cache
def memory_rules() -> tuple[EngineMemory, ...]:
    """How engines divide the memory of a GPU, oldest version of each first."""
    return typed_rows("engine_memory.csv", EngineMemory)


def memory_rule(engine: str, version: str = "", year: float | None = None) -> EngineMemory:
    """The rule of an engine in a version ("0.11.2+rhai1", "v0.30"); else in a decimal ``year``, else today's."""
    rules = [rule for rule in memory_rules() if rule.engine == engine]
    number = version_numbers(version)
    year = None if number else year
    held = [
        rule
        for rule in rules
        if (number is None or (version_numbers(rule.since) or (0, 0, 0)) <= number)
        and (year is None or (rule.year or 0.0) <= year)
    ]
    return (held or rules)[-1]


def version_numbers(version: str) -> tuple[int, int, int] | None:
    """Major and minor number of a version; None for a date or nothing."""
    match = re.match(r"(?:\D*[\s:>=v])?(\d{1,2})\.(\d+)(?:\.(\d+))?", version.strip())
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def version_year(version: str) -> float | None:
    """The decimal year of a version known by its date, early in a year that is stated alone; None for another text."""
    match = re.match(r"(20\d\d)(?:-(\d\d))?", version.strip())
    return int(match[1]) + (int(match[2]) / 12 if match[2] else EARLY) if match else None
