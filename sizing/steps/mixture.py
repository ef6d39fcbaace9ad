"""Decode steps of measured kernels and roofline together: a weighted geometric mean, the product's one source.

Both are wrong in their own way, the tables where a kernel was measured badly or an engine takes another, the roofline
where a kernel is unusual. weight of the tables = share / (1 + (d / reach)^2) with d = log(kernel / roofline): when they
contradict each other, one of them is broken, and that is mostly the tables (the weight a heavy-tailed error has in an
M-estimate; Cauchy weights, Holland and Welsch 1977). ``share`` and ``reach`` are cross-validated, ``mixture.yaml``.
Mixtures of experts alone have tables, because the roofline knows less of routing than of matrices: of dense models and
of prompts they say nothing that it does not know as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.format import percent
from sizing.catalog.files import read_yaml
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.question.traffic import Traffic
from sizing.steps.efficiency import REFERENCE_YEAR, Efficiencies
from sizing.steps.kernel_times import covered, kernel_decode_s, kernel_name
from sizing.steps.roofline import Roofline, roofline
from sizing.steps.times import StepTimes


@dataclass(frozen=True, kw_only=True)
class Trust:
    """How far the tables are trusted: ``share`` of the weight where both agree, ``reach`` is the log ratio at which it
    has halved."""

    share: float
    reach: float

    def weight(self, apart: Floats) -> Floats:
        """Weight of the tables where they are ``apart`` from the roofline, a log ratio."""
        return np.asarray(self.share / (1.0 + (apart / self.reach) ** 2))


NONE = Trust(share=0.0, reach=1.0)
"""No trust at all: the roofline alone."""


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """Combined step times; ``weight`` (C,) of the tables in decode steps, 0 where the roofline stands alone; ``apart``
    (C,): log ratio of their decode steps (root mean square over concurrencies), 0 where it stands alone."""

    times: StepTimes
    weight: Floats
    apart: Floats


@cache
def trust() -> Trust:
    """How far the kernel tables are trusted against the roofline, as ``mixture.yaml`` was fitted."""
    return Trust(**read_yaml("mixture.yaml")["trust"])


def mixed(base: StepTimes, kernel_s: Floats, given: Trust, leading: int | None = None) -> Mixed:
    """Decode steps as geometric means of the roofline's and the kernels' (C, K), which are NaN where there are none.

    How far they are apart is told by all concurrencies but the first ``leading``, which alone come out; by all, and all
    come out, where nothing is said. So one configuration has one weight, whatever is asked of it.
    """
    rest = slice(leading, None)
    ratio = np.log(kernel_s / base.decode_s)
    weight, apart = np.zeros((2, len(base)))
    known = np.isfinite(ratio).all(axis=1)
    apart[known] = np.sqrt(np.mean(ratio[known, rest] ** 2, axis=1))
    weight = np.where(known, given.weight(apart), 0.0)
    used = weight > 0.0
    ratio = np.where(used[:, None], ratio, 0.0)[:, :leading]
    base = base.on_grid(lambda values: values[:, :leading])
    times = replace(base, decode_s=base.decode_s * np.exp(weight[:, None] * ratio), apart=np.where(used, apart, np.nan))
    return Mixed(times=times, weight=weight, apart=np.where(used, apart, 0.0))


def source_in_words(kernel: str, base: str, weight: float) -> str:
    """The source of one candidate's times in words, with the weight of each."""
    return f"kernel+roofline: {percent(weight)} {kernel}, {percent(1.0 - weight)} {base}"


@dataclass(frozen=True)
class Mixture:
    """Measured kernels and roofline as one source of step times; the roofline alone where nothing was measured."""

    base: Roofline
    trust: Trust
    name: ClassVar[str] = "kernel tables and roofline"

    @property
    def fit(self) -> Efficiencies:
        """Delays of the first token come from the roofline's fit."""
        return self.base.fit

    @property
    def source(self) -> str:
        """Names of the kernel tables and of the roofline's fit."""
        return f"{kernel_name()} and {self.base.source}"

    def of_year(self, software_year: float) -> Mixture:
        """The same step times with software of another year."""
        return replace(self, base=replace(self.base, software_year=software_year))

    def mixed(self, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats) -> Mixed:
        """Step times of every candidate and the weight of the tables in them."""
        base = self.base.times(model, candidates, traffic, concurrency)
        weight, apart = np.zeros((2, len(candidates)))
        rows = covered(model, candidates)
        if not len(rows):
            return Mixed(times=base, weight=weight, apart=apart)
        some, load, ours = candidates.take(rows), concurrency[rows], base.take(rows)
        kernel_s = kernel_decode_s(model, some, traffic.decode_context, load)
        if self.base.software_year < REFERENCE_YEAR:  # older software slows the tables as it slows the roofline
            now = self.of_year(REFERENCE_YEAR).base.times(model, some, traffic.take(rows), load)
            kernel_s = kernel_s * (ours.decode_s / now.decode_s)
        both = mixed(ours, kernel_s, self.trust)
        weight[rows], apart[rows] = both.weight, both.apart
        return Mixed(times=base.replaced(rows, both.times), weight=weight, apart=apart)

    def times(self, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats) -> StepTimes:
        """Step times of every candidate; see :class:`StepTimes` for the shapes."""
        return self.mixed(model, candidates, traffic, concurrency).times


@cache
def mixture() -> Mixture:
    """The committed fit and weights."""
    return Mixture(roofline(), trust())
