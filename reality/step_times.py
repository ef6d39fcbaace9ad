"""Step times that live windows taught and a person accepted: of which engine they are, and how sure."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace

import numpy as np

from sharing.bonds.records import LearnedCalibration
from sizing.base.arrays import Floats
from sizing.base.units import TWO_SIDED_80, TWO_SIDED_95
from sizing.base.version import ENGINE_VERSION
from sizing.evidence.error_factors import ErrorFactors
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.simulator.fleet import Replica

NEXT_WINDOW = 0.03
"""Spread of the logarithm of a step time that the next window has, however many taught it. Chosen: what no step time
explained of the windows that were left out."""
LEAST_FRONT = 0.05
"""Least share of the planned time before the engine that is kept: from nothing no later window could correct it."""
PARTS = {"decode": 0, "prefill": 1}
"""Place of each in the covariance."""


def basis_of(question: Question, row: Configuration) -> str:
    """What factors on step times are factors of: model, configuration, version of the engine, and the scenario's own
    benchmark where it has one."""
    own = question.scenario.benchmark
    digest = "" if own is None else f", benchmark {hashlib.sha256(own.model_dump_json().encode()).hexdigest()[:8]}"
    return f"{question.model.id} on {row.label}, engine {ENGINE_VERSION}{digest}"


def factors_in_words(one: LearnedCalibration) -> str:
    """ "decode x 1.35, prefill x 1.10, learned from 5 windows until 2026-11-26 14:00 UTC"."""
    return (
        f"decode x {one.decode:.2f}, prefill x {one.prefill:.2f}, learned from {one.windows} windows until "
        f"{one.until:%Y-%m-%d %H:%M} UTC"
    )


def with_learned(replica: Replica, one: LearnedCalibration) -> Replica:
    """A replica whose steps take as long as was learned."""
    return replace(
        replica,
        grid=replica.grid.stretched(one.decode, one.prefill),
        request_s=replica.request_s * one.front,
        prompt_token_s=replica.prompt_token_s * one.front,
    )


def interval_of(one: LearnedCalibration, part: str) -> ErrorFactors:
    """How far step times may lie from the learned ones: the error of the fit, which falls with every window, and what
    the next window differs by."""
    at = PARTS[part]
    spread = math.hypot(math.sqrt(max(one.covariance[at][at], 0.0)), NEXT_WINDOW)
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


def relative_covariance(one: LearnedCalibration) -> Floats:
    """The covariance of what is left to learn, (3, 3): both logarithms, and the front in parts of the learned one."""
    scale = np.array([1.0, 1.0, 1.0 / max(one.front, LEAST_FRONT)])
    return np.asarray(one.covariance) * np.outer(scale, scale)
