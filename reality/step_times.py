"""Step times that live windows taught and a person accepted: of which engine they are, and how sure."""

import hashlib
import math
from dataclasses import dataclass, replace

import numpy as np

from sharing.bonds.records import LearnedCalibration
from sizing.base.arrays import Floats
from sizing.base.units import MS_PER_S, TWO_SIDED_80, TWO_SIDED_95
from sizing.base.version import ENGINE_VERSION
from sizing.evidence.error_factors import ErrorFactors
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.simulator.fleet import Replica

NEXT_WINDOW = 0.03
"""Spread of the logarithm of a step time that the next window has, however many taught it. Chosen: what no step time
explained of the windows that were left out."""
LEAST_SHOWN = 5e-5
"""Milliseconds of a sequence that are shown at least: below, no host is as fast."""
LEAST_FRONT = 0.05
"""Least share of the planned time before the engine that is kept: from nothing no later window could correct it."""
PARTS = {"decode": 0, "prefill": 1}
"""Place of each in the covariance."""
LEARNED = 4
"""What is learned: log decode, log prefill, the front, and what a sequence adds to a step."""


@dataclass(frozen=True, kw_only=True)
class StepLoad:
    """The load at which an interval is asked for: sequences that run, and how long a decode step takes with them."""

    sequences: float
    step_s: float


def load_of(replica: Replica, sequences: float, context: float) -> StepLoad:
    """The step of a replica that runs so many sequences at a mean context."""
    grid = replica.grid
    number = min(max(round(sequences), 1), grid.max_sequences)
    return StepLoad(sequences=number, step_s=float(np.interp(context, grid.knots, grid.decode_s[number])))


def sequence_s_of(one: LearnedCalibration | None) -> float:
    """Seconds that each running sequence was learned to add to a step; 0 where nothing was."""
    return 0.0 if one is None else one.sequence_ms / MS_PER_S


def basis_of(question: Question, row: Configuration) -> str:
    """What factors on step times are factors of: model, configuration, version of the engine, and the scenario's own
    benchmark where it has one."""
    own = question.scenario.benchmark
    digest = ""
    if own is not None:  # one that states no time per sequence has the digest that it had before there was any
        stated = own.model_dump_json(exclude=None if own.sequence_ms else {"sequence_ms"})
        digest = f", benchmark {hashlib.sha256(stated.encode()).hexdigest()[:8]}"
    return f"{question.model.id} on {row.label}, engine {ENGINE_VERSION}{digest}"


def factors_in_words(one: LearnedCalibration) -> str:
    """ "decode x 1.35, prefill x 1.10, 0.42 ms more for each running sequence, learned from 5 windows until 2026-11-26
    14:00 UTC"."""
    more = f"{milliseconds(one.sequence_ms)} ms more for each running sequence, " if one.sequence_ms else ""
    return (
        f"decode x {one.decode:.2f}, prefill x {one.prefill:.2f}, {more}learned from {one.windows} windows until "
        f"{one.until:%Y-%m-%d %H:%M} UTC"
    )


def milliseconds(value: float) -> str:
    """A time per sequence to two digits: "0.42", "0.018"; "0" for none."""
    return f"{value:.2g}" if value > LEAST_SHOWN else "0"


def with_learned(replica: Replica, one: LearnedCalibration) -> Replica:
    """A replica whose steps take as long as was learned."""
    return replace(
        replica,
        grid=replica.grid.stretched(one.decode, one.prefill).with_sequences(sequence_s_of(one)),
        request_s=replica.request_s * one.front,
        prompt_token_s=replica.prompt_token_s * one.front,
        first_token_steps=replica.first_token_steps * one.front,
    )


def interval_of(one: LearnedCalibration, part: str, load: StepLoad | None = None) -> ErrorFactors:
    """How far step times may lie from the learned ones: the error of the fit, which falls with every window, and what
    the next window differs by.

    ``load``: where the interval of decode steps is asked for: the time per sequence is best known together with the
    factor at the loads of the windows (None: of the factor alone, with the time per sequence as it is).
    """
    spread = math.hypot(math.sqrt(max(_variance(one, part, load), 0.0)), NEXT_WINDOW)
    low, high, low_95, high_95 = (
        math.exp(sign * z * spread) for z in (TWO_SIDED_80, TWO_SIDED_95) for sign in (-1.0, 1.0)
    )
    return ErrorFactors(
        low_factor=low,
        high_factor=high,
        low_95=low_95,
        high_95=high_95,
        basis=f"{one.windows} live windows of this deployment",
        rows=one.windows,
        own=True,
    )


def _variance(one: LearnedCalibration, part: str, load: StepLoad | None) -> float:
    """Variance of the logarithm of what a part of the steps takes."""
    at = PARTS[part]
    own = one.covariance[at][at]
    if not one.sequence_covariance:
        return own
    known = covariance_of(one, 0.0)
    if load is None or part != "decode":
        return float(own - known[at, -1] ** 2 / known[-1, -1]) if known[-1, -1] > 0.0 else own
    slope = np.zeros(LEARNED)
    slope[-1] = load.sequences / MS_PER_S / load.step_s
    slope[at] = 1.0 - slope[-1] * one.sequence_ms
    return float(slope @ known @ slope)


def covariance_of(one: LearnedCalibration, unknown_ms: float) -> Floats:
    """The covariance of everything that is learned, (4, 4), the last in ms; ``unknown_ms``: the spread of the time per
    sequence where it was never looked for."""
    whole = np.zeros((LEARNED, LEARNED))
    whole[:-1, :-1] = one.covariance
    whole[-1] = whole[:, -1] = one.sequence_covariance or (0.0, 0.0, 0.0, unknown_ms**2)
    return whole


def relative_covariance(one: LearnedCalibration, unknown_ms: float) -> Floats:
    """The same of what is left to learn: both logarithms, the front in parts of the learned one, and the time per
    sequence in ms."""
    scale = np.array([1.0, 1.0, 1.0 / max(one.front, LEAST_FRONT), 1.0])
    return covariance_of(one, unknown_ms) * np.outer(scale, scale)
