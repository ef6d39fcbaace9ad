"""Step times from measured kernels: an adapter to NVIDIA's tables (``aiconfigurator-core``), which are optional.

The tables time each operator of a forward pass on real GPUs; the package adds them up. It knows nothing of host time
per step or request, of queues or of memory. Its semantics, read in release 0.12: ``decode_step_latency(b, isl, osl)``
times one step of b sequences *per attention-DP rank* at a context of ``isl + osl // 2 + 1`` tokens;
``mixed_step_latency`` times one step that also carries ``ctx_tokens`` prompt tokens per rank; with pipeline stages all
three answer for the pass through every stage. Milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from math import ceil
from typing import ClassVar

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.units import S_PER_MS
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.steps.kernel_configs import checkpoint
from sizing.steps.kernel_engines import EXPECTED, StepTable, available, engine_for, sentence
from sizing.steps.rates import hardware, rates
from sizing.steps.roofline import prefill_s, prefill_work_s, roofline
from sizing.steps.shape import shape_of
from sizing.steps.times import StepTimes

ABSENT = "kernel tables (not installed)"
SHARED_SEQUENCES = 32
"""Decoding sequences per rank beside which a prompt's work is measured, see ``_work_s``. Chosen: because it is a usual
batch, beside which weights are already streamed."""
KNOTS = np.array([1, 2, 3, *(k * 2**n for n in range(2, 11) for k in (1, 1.5)), 2048, 4096], dtype=np.float64)
"""Sequences per rank at which decoding is read: every size that MoE kernels tell apart, then two per doubling."""


@dataclass(frozen=True)
class KernelTables:
    """Measured kernels as a source of step times. Compiled engines are shared by the process; thread-safe."""

    name: ClassVar[str] = "kernel"

    def available(self) -> bool:
        """Whether the package can be imported on this platform (takes about 0.3 s the first time)."""
        return available()

    def reason(self, model: Model, configuration: Configuration) -> str:
        """Why the tables do not cover ``configuration``; "" when they do."""
        return engine_for(model, configuration).reason

    def times(self, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats) -> StepTimes:
        """Decode, prefill and prefill work of every candidate; NaN rows where the tables do not cover it."""
        decode, prefill, work = np.full_like(concurrency, np.nan), *np.full((2, len(candidates)), np.nan)
        lone, waits = _on_one_rank(model, candidates, traffic)
        for i, row in enumerate(candidates.rows):
            engine = engine_for(model, row)
            if engine.table is None:
                continue
            try:
                times = _row(engine.table, row, traffic, concurrency[i])
            except EXPECTED as error:
                engine.reason = sentence(error)
                continue
            engine.reason = ""
            decode[i], prefill[i], work[i] = times
        source = self.source(model, candidates)
        return StepTimes(
            decode_s=decode,
            prefill_s=prefill * lone,
            prefill_work_s=work,
            source=source,
            stall_s=work * waits,
            ranks=candidates.dp,
        )

    def source(self, model: Model, candidates: Candidates) -> str:
        """Name and release of the tables, and whether another architecture stands in for the model's own."""
        name = kernel_name()
        if not available():
            return name
        written = checkpoint(model, candidates.rows[0].precision.id) if len(candidates) else None
        return f"{name}, relabelled as {written.relabelled}" if written and written.relabelled else name


def kernel_name() -> str:
    """Name and release of the tables."""
    return f"kernel tables (aiconfigurator-core {version('aiconfigurator-core')})" if available() else ABSENT


def _on_one_rank(model: Model, candidates: Candidates, traffic: Traffic) -> tuple[Floats | float, Floats | float]:
    """What the tables cannot tell, because they time as many prompt tokens on every attention-DP rank: prefill of a
    prompt on one rank over that of one on each, and stall over work of a prompt, (C,). Both are the roofline's."""
    if not np.any(candidates.dp > 1):
        return 1.0, 0.0
    source, shape = roofline(), shape_of(model)
    speed = rates(candidates, hardware(candidates), source.fit, source.software_year)
    new, cached = traffic.new_tokens, traffic.cached_tokens
    work, stall = prefill_work_s(shape, speed, new, cached)
    lone = prefill_s(shape, speed, new, cached) / prefill_s(shape, speed, new, cached, speed.dp)
    return lone[:, 0], (stall / work)[:, 0]


def _row(table: StepTable, row: Configuration, traffic: Traffic, concurrency: Floats) -> tuple[Floats, float, float]:
    """Decode (K,), prefill and prefill work of one candidate in seconds, with a prompt on each attention-DP rank.

    A pass carries B / PP sequences, of which an attention-DP rank decodes B / (PP x DP); the table's time is that of
    the pass through all stages, as in the roofline.
    """
    groups = row.pp * row.dp
    decode = _decode_s(table, concurrency / groups, traffic.decode_context)
    budget = row.engine.budget(row.gpu)
    chunks = _chunks(traffic, budget)
    alone = sum(table.predict_prefill_latency(1, before + n, before) for n, before in chunks) * S_PER_MS
    return decode, alone, _work_s(table, chunks, budget) / groups


def _decode_s(table: StepTable, sequences: Floats, context: float) -> Floats:
    """Time of one decode step in seconds for ``sequences`` per rank, shape (K,); below one sequence it is that of one.

    Linear between ``KNOTS``. No batch takes longer than a larger one, to which an engine could pad it: this levels
    kernels that were measured slower at a small batch.
    """
    top = max(float(sequences.max(initial=1.0)), KNOTS[-1])
    knots = np.append(KNOTS, 2.0 * ceil(top)) if top > KNOTS[-1] else KNOTS
    tokens = max(round(context) - 1, 1)  # the package adds osl // 2 + 1 with osl = 1
    read = np.array([table.decode_step_latency(int(b), tokens, 1) for b in knots]) * S_PER_MS
    return np.asarray(np.interp(sequences, knots, np.minimum.accumulate(read[::-1])[::-1]), dtype=np.float64)


def _chunks(traffic: Traffic, budget: int) -> list[tuple[int, int]]:
    """(new tokens, tokens before them) of each step of one prompt: equal parts within the engine's token budget."""
    new, cached = max(round(traffic.new_tokens), 1), max(round(traffic.cached_tokens), 0)
    parts = ceil(new / budget)
    ends = [new * i // parts for i in range(parts + 1)]
    return [(end - start, cached + start) for start, end in pairwise(ends)]


def _work_s(table: StepTable, chunks: list[tuple[int, int]], budget: int) -> float:
    """Engine time in seconds that one prompt adds to steps that decode anyway, before dividing by PP x DP.

    Per chunk: mixed step with ``SHARED_SEQUENCES`` decoding sequences - the same step without the chunk, plus attention
    to the tokens before it (prefill with them cached - prefill without). 32 sequences are the middle of the usual load:
    from 8 to 128 the work of 2,000 tokens changes by 5 % for dense models and 20 % for MoE, whose experts a larger
    batch has read already. The two steps are read from different tables, so a few tokens may come out below zero: they
    cost at least their share of the step's token budget.
    """
    work = 0.0
    for n, before in chunks:
        step = table.decode_step_latency(SHARED_SEQUENCES, n, 1)
        added = table.mixed_step_latency(n, SHARED_SEQUENCES, n, 1) - step
        if before:
            added += table.predict_prefill_latency(1, before + n, before) - table.predict_prefill_latency(1, n)
        work += max(added, step * n / budget)
    return work * S_PER_MS
