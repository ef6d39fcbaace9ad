"""Candidates with speculative decoding beside those without, where drafts can decide.

Drafts make a token come sooner and cost rows to verify, so that they pay where a limit on the time between tokens, or
on whole answers, keeps an instance from taking more load, and where the lowest latency is asked for. Elsewhere they are
left out: at full batches verification takes what drafts save (Liu et al., "Optimizing speculative decoding for serving
LLMs using goodput", 2024).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sizing.base.arrays import Floats, Rows
from sizing.base.compiled_rows import non_decreasing, position
from sizing.deployments.candidates import Candidates
from sizing.deployments.concurrency import running_fit
from sizing.question.speculation import LONGEST_PROMPT, Speculation, published
from sizing.question.understand import Question
from sizing.queueing.capacity import Bound, rate_at_limit
from sizing.queueing.steady_state import NEARLY_FULL, concurrency_grid
from sizing.search.batch_limits import first_of_each
from sizing.search.caution import with_doubt_of_drafts
from sizing.search.screen import Evaluated, fewest_on_gpu, instances_needed, under_load
from sizing.steps.speculation import speculated

BEST_OF_UNIT = 2
"""Configurations of each GPU, engine and number format that are tried with each number of drafts: those that could need
the fewest GPUs. Chosen: few, because alike ones gain alike."""


def with_drafts(question: Question, evaluated: Evaluated) -> Evaluated:
    """The candidates, and after them those that could need fewer GPUs, or answer sooner, with drafts."""
    kinds = _considered(question)
    if not kinds or not len(evaluated):
        return evaluated
    chosen = [_worth_it(question, evaluated, kind) for kind in kinds]
    rows = np.concatenate(chosen)
    drafts = [kind for kind, of_kind in zip(kinds, chosen, strict=True) for _ in range(len(of_kind))]
    return evaluated.followed_by(_drafting(question, evaluated, rows, drafts)) if len(rows) else evaluated


def _considered(question: Question) -> tuple[Speculation, ...]:
    """The drafts that are looked at unasked: none where the scenario says what drafts to take, or none, where nobody
    waits for a token, beyond the contexts that acceptance was published for, and beside adapters, which change the
    answers that drafts were made for."""
    deployment, traffic = question.scenario.deployment, question.traffic
    decided = deployment.speculative_decoding is not None or deployment.speculation == "off"
    decided = decided or question.allowed.adapters.number > 0
    short = traffic.output_tokens < 2.0 or question.scenario.workload.mode == "offline"
    if decided or short or traffic.input_tokens > LONGEST_PROMPT:
        return ()
    return published(question.model)


def _worth_it(question: Question, evaluated: Evaluated, drafts: Speculation) -> Rows:
    """Rows that drafts could make the smallest, or the soonest, of their GPU type; those that could gain most of each
    GPU, engine and formats. Verifying is free of charge here, which is the best that drafts can do."""
    able = _able(question, evaluated, drafts)
    if not len(able):
        return able
    unit = evaluated.candidates.unit[able]
    factor = (1.0 + drafts.draft_tokens * drafts.draft_cost) / drafts.tokens_per_step
    if question.scenario.deployment.objective == "latency":
        times = evaluated.times  # without load: the first of the concurrencies
        soonest = times.prefill_s[able] + question.traffic.output_tokens * factor * times.decode_s[able, 0]
        return able[first_of_each(unit, soonest, BEST_OF_UNIT)]
    gpus = _fewest(question, evaluated, able, factor)
    promising = np.flatnonzero(gpus < fewest_on_gpu(question.demand.sustained_rps, evaluated)[able])
    fewest = first_of_each(unit[promising], gpus[promising], BEST_OF_UNIT)
    # Near a limit that is hardly kept, the fastest layout needs the fewest once its waits are simulated.
    fastest = first_of_each(unit[promising], evaluated.times.decode_s[able[promising], 0], 1)
    return able[promising[np.union1d(fewest, fastest)]]


def _able(question: Question, evaluated: Evaluated, drafts: Speculation) -> Rows:
    """Rows whose engine runs the drafts, and that a limit on tokens or answers keeps small, unless the lowest latency
    is asked for. Without pipeline stages: TensorRT-LLM has drafts with none (feature combination matrix), and every
    stage makes each draft wait."""
    draft, c, capacity = drafts.draft, evaluated.candidates, evaluated.capacity
    engines = () if draft is None else draft.engines
    runs = c.per_unit(("drafts", engines), lambda unit: int(unit.engine.id in engines))[c.unit] > 0
    able = runs & (c.pp == 1.0)
    if question.scenario.deployment.objective != "latency":
        able &= np.isin(capacity.bound, (Bound.ITL, Bound.E2E))
    return np.flatnonzero(able)


def _fewest(question: Question, evaluated: Evaluated, rows: Rows, factor: float) -> Floats:
    """GPUs at best, (N,): with each gap between tokens ``factor`` as long, in the mean, and prompts that cost nothing.

    Rate(B) = B / ((OSL - 1) x gap(B)) with gap(B) = factor x decode step; the limit is that of a gap.
    """
    gaps = max(question.traffic.output_tokens - 1.0, 1.0)
    limit = min(question.limits.itl_s, question.limits.e2e_s / gaps)
    gap = non_decreasing(factor * evaluated.times.decode_s[rows])
    rate = non_decreasing(evaluated.state.concurrency[rows] / (gaps * gap))
    most = np.minimum(rate_at_limit(rate, gap, limit), rate[:, -1])
    return np.asarray(instances_needed(question.demand.sustained_rps, most) * evaluated.candidates.gpus[rows])


def _drafting(question: Question, evaluated: Evaluated, rows: Rows, drafts: Sequence[Speculation]) -> Evaluated:
    """The candidates at ``rows``, each with its drafts, as far as these fit in memory; step times between known
    concurrencies are interpolated."""
    candidates = _named(evaluated.candidates.take(rows), drafts)
    memory = running_fit(question.model, candidates, question.traffic)
    fits = np.flatnonzero(memory.fits)
    candidates, memory, rows = candidates.take(fits), memory.take(fits), rows[fits]
    slots = np.minimum(memory.max_concurrency, evaluated.memory.max_concurrency[rows])
    times, known = evaluated.times.take(rows), evaluated.state.concurrency[rows]
    grid = concurrency_grid(slots, known.shape[1] - len(NEARLY_FULL) + 1)
    before = evaluated.slowness.take(rows)
    plain = times.on_grid(position(known, grid, beyond=True).of)
    drafting = speculated(before.taken_off(plain), question.model, candidates, grid, question.traffic.decode_context)
    slow = with_doubt_of_drafts(before, candidates, question.confidence)
    return under_load(
        question,
        candidates,
        replace(memory, max_concurrency=slots),
        slow.put_on(drafting),
        tuple(evaluated.sources[i] for i in rows),
        grid,
        slow,
    )


def _named(candidates: Candidates, drafts: Sequence[Speculation]) -> Candidates:
    """The candidates as configurations that say their drafts."""
    rows = tuple(replace(row, speculation=one) for row, one in zip(candidates.rows, drafts, strict=True))
    return replace(candidates, rows=rows, draft_tokens=np.array([one.draft_tokens for one in drafts], dtype=np.int64))
