"""Step times from kernel tables and roofline together: a weighted geometric mean of both.

Both are wrong in their own way, the tables where a kernel was measured badly or an engine takes another, the roofline
where a kernel is unusual. weight of the tables = share / (1 + (d / reach)^2) with d = log(kernel / roofline): when they
contradict each other, one of them is broken, and that is mostly the tables (the weight a heavy-tailed error has in an
M-estimate; Cauchy weights, Holland and Welsch 1977). ``share`` and ``reach`` are cross-validated, ``mixture.yaml``;
dense models and mixtures of experts have their own, because the roofline knows less of routing than of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar

import numpy as np

from sizing.base.arrays import Flags, Floats
from sizing.base.format import percent
from sizing.catalog.files import read_yaml
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.question.traffic import Traffic
from sizing.steps.efficiency import Efficiencies
from sizing.steps.kernel import KernelTables
from sizing.steps.roofline import Roofline, roofline
from sizing.steps.times import StepTimes


@dataclass(frozen=True, kw_only=True)
class Trust:
    """How far the tables are trusted for one kind of time: ``share`` of the weight where both agree, ``reach`` is the
    log ratio at which it has halved."""

    share: float | Floats
    reach: float | Floats

    def weight(self, apart: Floats) -> Floats:
        """Weight of the tables where they are ``apart`` from the roofline, a log ratio."""
        return np.asarray(self.share / (1.0 + (apart / self.reach) ** 2))


NONE = Trust(share=0.0, reach=1.0)
"""No trust at all: the roofline alone."""


@dataclass(frozen=True, kw_only=True)
class StepTrust:
    """Trust in decode steps and in prompts (prefill and the work of a prompt beside decoding)."""

    decode: Trust
    prompt: Trust


@dataclass(frozen=True, kw_only=True)
class Trusts:
    """Trust in the tables for dense models and for mixtures of experts.

    ``modes`` are the protocols in which the tables made held-out errors smaller; in the others they are not asked.
    """

    dense: StepTrust
    moe: StepTrust
    modes: frozenset[str]

    def of(self, is_moe: bool | Flags) -> StepTrust:
        """The trust for one model, or columns (C,) for a different one per row."""

        def chosen(dense: Trust, moe: Trust) -> Trust:
            return Trust(share=np.where(is_moe, moe.share, dense.share), reach=np.where(is_moe, moe.reach, dense.reach))

        return StepTrust(
            decode=chosen(self.dense.decode, self.moe.decode), prompt=chosen(self.dense.prompt, self.moe.prompt)
        )

    def none(self) -> Trusts:
        """No trust at all: the roofline alone."""
        nothing = StepTrust(decode=NONE, prompt=NONE)
        return Trusts(dense=nothing, moe=nothing, modes=frozenset())


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """Combined step times; ``weight`` (C,) of the tables in decode steps, 0 where the roofline stands alone; ``apart``
    (C,): log ratio of their decode steps (root mean square over concurrencies), 0 where it stands alone."""

    times: StepTimes
    weight: Floats
    apart: Floats


@cache
def trusts() -> Trusts:
    """The committed weights."""
    row = read_yaml("mixture.yaml")

    def kind(name: str) -> StepTrust:
        return StepTrust(decode=Trust(**row[name]["decode"]), prompt=Trust(**row[name]["prompt"]))

    return Trusts(dense=kind("dense"), moe=kind("moe"), modes=frozenset(row["modes"]))


def mixed(base: StepTimes, kernel: StepTimes, trust: StepTrust) -> Mixed:
    """Geometric means of both sources. The tables count the fixed time of prompt steps as work, so that it counts
    beside theirs only as far as the roofline does. The share of a prompt's work for which other ranks wait is that of
    the roofline in both."""
    covered = np.isfinite(kernel.decode_s).all(axis=1) & np.isfinite(kernel.prefill_s + kernel.prefill_work_s)
    covered &= (kernel.decode_s > 0).all(axis=1) & (kernel.prefill_s > 0) & (kernel.prefill_work_s > 0)

    apart = _apart(base.decode_s, kernel.decode_s, covered)
    decode = trust.decode.weight(apart) * covered
    prefill = trust.prompt.weight(_apart(base.prefill_s, kernel.prefill_s, covered)) * covered
    work = trust.prompt.weight(_apart(base.prefill_work_s, kernel.prefill_work_s, covered)) * covered
    together = _mean(base.prefill_work_s, kernel.prefill_work_s, work)
    return Mixed(
        times=StepTimes(
            decode_s=_mean(base.decode_s, kernel.decode_s, decode[:, None]),
            prefill_s=_mean(base.prefill_s, kernel.prefill_s, prefill),
            prefill_work_s=together,
            prompt_step_s=np.broadcast_to(base.prompt_step_s, prefill.shape) * (1.0 - work),
            stall_s=base.stall_s * (together / base.prefill_work_s),
            ranks=base.ranks,
            front_s=base.front_s,
            source=base.source,
        ),
        weight=decode,
        apart=apart,
    )


def _apart(base: Floats, kernel: Floats, covered: Flags) -> Floats:
    """Log ratio (C,) of both sources: one per candidate, so that mixed times keep growing with concurrency."""
    rows = covered if base.ndim == 1 else covered[:, None]
    ratio = np.log(np.where(rows, kernel, base) / base)
    return np.asarray(np.abs(ratio) if base.ndim == 1 else np.sqrt(np.mean(ratio**2, axis=1)))


def _mean(base: Floats, kernel: Floats, weight: Floats) -> Floats:
    """Weighted geometric mean; the base alone where the weight is 0."""
    known = np.where(weight > 0, kernel, base)
    return np.asarray(base * (known / base) ** weight)


def aged(kernel: StepTimes, then: StepTimes, now: StepTimes) -> StepTimes:
    """The tables' times as older software would have them: times the roofline's ratio of that year to today."""
    work = then.prefill_work_s / now.prefill_work_s
    return replace(
        kernel,
        decode_s=kernel.decode_s * (then.decode_s / now.decode_s),
        prefill_s=kernel.prefill_s * (then.prefill_s / now.prefill_s),
        prefill_work_s=kernel.prefill_work_s * work,
        stall_s=kernel.stall_s * work,
    )


def source_in_words(kernel: str, base: str, weight: float) -> str:
    """The source of one candidate's times in words, with the weight of each."""
    return f"kernel+roofline: {percent(weight)} {kernel}, {percent(1.0 - weight)} {base}"


@dataclass(frozen=True)
class Mixture:
    """Kernel tables and roofline as one source of step times; the roofline alone where there are no tables."""

    base: Roofline
    trust: Trusts
    kernel: KernelTables = field(default_factory=KernelTables)
    name: ClassVar[str] = "kernel tables and roofline"

    @property
    def fit(self) -> Efficiencies:
        """Delays of the first token come from the roofline's fit."""
        return self.base.fit

    def mixed(self, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats) -> Mixed:
        """Step times of every candidate and the weight of the tables in them."""
        base = self.base.times(model, candidates, traffic, concurrency)
        return mixed(base, self.kernel.times(model, candidates, traffic, concurrency), self.trust.of(model.is_moe))

    def times(self, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats) -> StepTimes:
        """Step times of every candidate; see :class:`StepTimes` for the shapes."""
        return self.mixed(model, candidates, traffic, concurrency).times


def mixture() -> Mixture:
    """The committed fit and weights."""
    return Mixture(roofline(), trusts())
