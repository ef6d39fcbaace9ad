"""GPUs needed over prompt and output length: where the answer tips over."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats, non_decreasing
from sizing.base.checks import number_between
from sizing.base.errors import SizingError
from sizing.base.quantity import Result, quantity
from sizing.deployments.candidates import Candidates
from sizing.deployments.kv_transfer import supports
from sizing.deployments.memory import memory_fit
from sizing.question.configuration import Configuration
from sizing.question.limits import LatencyLimits
from sizing.question.traffic import TrafficColumns
from sizing.question.understand import Question, at_lengths, understand
from sizing.queueing.capacity import rate_at_limit
from sizing.queueing.pools import prefill_times
from sizing.scenario.bounds import MAX_TOKENS
from sizing.scenario.schema import Deployment, Scenario
from sizing.search.aggregated import smallest_aggregated
from sizing.search.batch_limits import with_batch_limits
from sizing.search.pools_search import smallest_pools, wanted
from sizing.search.screen import Evaluated, all_configurations, evaluate, held, instances_needed
from sizing.search.serving import with_smallest

MAX_CELLS = 1_024
"""Cells of a map at most. Chosen: because 32 by 32 are still told apart, and take about a second."""
STEPS = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
"""Multiples of the lengths of the scenario that a map shows unless others are given."""

ROWS_AT_ONCE = 2_048
"""Rows of one table. Chosen: because its columns then stay in the processor's cache, whatever the number of cells."""


class LengthCell(Result):
    """The smallest answer for one pair of lengths on one kind of GPU."""

    input_tokens: float = quantity("ISL", "tokens", "asked", "Mean prompt length.")
    output_tokens: float = quantity("OSL", "tokens", "asked", "Mean output length.")
    gpus: int | None = quantity("GPUs", "GPUs", "instances x GPUs per instance", "None when nothing serves it.")
    systems: int | None = quantity("Systems", "systems", "whole systems", "None when nothing serves it.")
    configuration: str = quantity("Deployment", help="GPU, engine, precision and parallelism of its instances.")
    reason: str = quantity("Reason", help="Why nothing serves these lengths; empty otherwise.")


class LengthMap(Result):
    """GPUs needed for every pair of lengths, rows by prompt length."""

    gpu: str = quantity("GPU", help="Catalogue id of the accelerator.")
    input_tokens: tuple[float, ...] = quantity("Prompt lengths", "tokens", "asked", "Of the rows.")
    output_tokens: tuple[float, ...] = quantity("Output lengths", "tokens", "asked", "Of the columns.")
    rows: tuple[tuple[LengthCell, ...], ...] = quantity("Cells", help="One row per prompt length.")


def gpus_over_lengths(
    scenario: Scenario, gpu: str, isl_values: Sequence[float], osl_values: Sequence[float]
) -> LengthMap:
    """GPUs that a plan on ``gpu`` alone would use at each pair of mean lengths; load and limits as asked.

    The spread of the lengths and the cached share of the prompt stay as they are. Raises InvalidScenario, and
    SizingError for a GPU that is not considered, a length that is not a number of tokens, or more than 1,024 cells.
    """
    prompts = tuple(number_between("Prompt length", v, 0, MAX_TOKENS, exclude_low=True) for v in isl_values)
    outputs = tuple(number_between("Output length", v, 0, MAX_TOKENS, exclude_low=True) for v in osl_values)
    if len(prompts) * len(outputs) > MAX_CELLS:
        raise SizingError(f"A map holds at most {MAX_CELLS:,} cells, not {len(prompts) * len(outputs):,}.")
    question = understand(on_gpu(scenario, gpu))
    cells = _cells([at_lengths(question, i, o) for i in prompts for o in outputs])
    rows = tuple(tuple(cells[n : n + len(outputs)]) for n in range(0, len(cells), max(len(outputs), 1)))
    return LengthMap(gpu=gpu, input_tokens=prompts, output_tokens=outputs, rows=rows)


def around(scenario: Scenario) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Prompt and output lengths around those of the scenario, up to eight times shorter and longer."""
    traffic = understand(scenario).traffic
    prompts, outputs = (tuple(n * step for step in STEPS) for n in (traffic.input_tokens, traffic.output_tokens))
    return prompts, tuple(n for n in outputs if n >= 1)


def on_gpu(scenario: Scenario, gpu: str) -> Scenario:
    """The scenario with that GPU only. Raises SizingError when it does not consider the GPU."""
    question = understand(scenario)
    if gpu not in {g.id for g in question.gpus}:
        raise SizingError(f"{gpu} is not among the GPUs considered.")
    own = [g for g in scenario.deployment.custom_gpus if g.id == gpu]
    narrowed: Deployment = scenario.deployment.model_copy(update={"gpus": [gpu], "custom_gpus": own})
    return scenario.model_copy(update={"deployment": narrowed})


def _cells(questions: Sequence[Question]) -> list[LengthCell]:
    """The cells of questions that differ in lengths only, many at once."""
    by_number: dict[int, LengthCell] = {}
    alike: dict[LatencyLimits, list[int]] = {}
    for n, question in enumerate(questions):
        window, lengths = question.model.max_context, question.traffic
        if window and lengths.input_tokens + lengths.output_tokens > window:
            by_number[n] = _unserved(question, f"Beyond the context window of {window:,} tokens.")
        else:
            alike.setdefault(question.limits, []).append(n)
    for numbers in alike.values():
        each = all_configurations(questions[numbers[0]])
        # Kernel tables are read for one pair of lengths at a time.
        one_by_one = questions[0].scenario.deployment.step_times == "kernel"
        some = 1 if one_by_one else max(ROWS_AT_ONCE // max(len(each), 1), 1)
        for first in range(0, len(numbers), some):
            part = numbers[first : first + some]
            by_number.update(zip(part, _together([questions[n] for n in part], each), strict=True))
    return [by_number[n] for n in range(len(questions))]


def _together(questions: Sequence[Question], each: Candidates) -> list[LengthCell]:
    """The cells of a few questions with the same limits: the configurations once for each, in one table."""
    question, cells = questions[0], np.repeat(np.arange(len(questions)), len(each))
    rows = np.tile(np.arange(len(each)), len(questions))
    lengths = None if len(questions) == 1 else _columns(questions).take(cells)
    tokens = question.traffic.resident_kv_tokens if lengths is None else held(lengths)
    kept = np.flatnonzero(memory_fit(question.model, each.take(rows), tokens).fits)
    cells = cells[kept]
    evaluated = evaluate(question, each.take(rows[kept]), traffic=None if lengths is None else lengths.take(kept))
    sized = smallest_aggregated(question, evaluated)
    ranked = sized.order()
    served, first = np.unique(cells[sized.index[ranked]], return_index=True)
    best = dict(zip(served.tolist(), ranked[first].tolist(), strict=True))
    starts = np.searchsorted(cells, np.arange(len(questions) + 1))
    capped, split = _least(questions, evaluated, cells)
    answers = []
    for n, (start, end) in enumerate(pairwise(starts.tolist())):
        gpus = int(sized.gpus[best[n]]) if n in best else None
        most = np.inf if gpus is None else float(gpus)
        better = None
        if min(capped[n], split[n]) < most:
            own = evaluated.take(np.arange(start, end))
            better = _better(questions[n], own, most, caps=capped[n] < most, pools=split[n] < most)
        if better is None and n in best:
            better = _served(questions[n], sized.label(best[n]), int(sized.gpus[best[n]]), int(sized.systems[best[n]]))
        reason = "No load meets the limits." if end > start else "Does not fit in memory."
        answers.append(better or _unserved(questions[n], reason))
    return answers


def _least(questions: Sequence[Question], evaluated: Evaluated, cells: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Fewest GPUs that a batch limit, and that pools could come down to in each cell, (len(questions),): quick bounds.

    A cap cannot carry more than the rate at which the mean gap reaches its limit, a decode instance not more than that
    at which its step does, a prefill instance not more than it computes.
    """
    question, candidates, times = questions[0], evaluated.candidates, evaluated.times
    outputs = np.array([q.traffic.output_tokens for q in questions])[cells]
    prompts = np.array([q.traffic.new_tokens for q in questions])[cells]
    gaps = np.maximum(outputs - 1.0, 1.0)
    limit = np.minimum(question.limits.itl_s, question.limits.e2e_s / gaps)

    def fewest(rate: Floats, able: NDArray[np.bool_]) -> Floats:
        gpus = np.full(len(questions), np.inf)
        needed = np.where(rate > 0, instances_needed(question.demand.sustained_rps, rate) * candidates.gpus, np.inf)
        np.minimum.at(gpus, cells[able], needed[able])
        return gpus

    def at_limit(rate: Floats, gap: Floats) -> Floats:
        rate = non_decreasing(rate)
        return np.minimum(rate_at_limit(rate, non_decreasing(gap), limit), rate[:, -1])

    tokens = times.tokens_per_step
    capped = at_limit(evaluated.state.rps, evaluated.state.itl_mean_s)
    decode = at_limit(evaluated.state.concurrency / (gaps[:, None] / tokens * times.decode_s), times.decode_s / tokens)
    full = prefill_times(times, candidates.pp, candidates.column(_budget), prompts).full_s
    split = np.array([supports(unit) for unit in candidates.units])[candidates.unit] & wanted(question)
    everywhere = np.ones(len(cells), dtype=np.bool_)
    return fewest(capped, everywhere), fewest(1.0 / full, split) + fewest(decode, split)


def _budget(row: Configuration) -> float:
    return row.engine.budget(row.gpu)


def _better(question: Question, own: Evaluated, most: float, *, caps: bool, pools: bool) -> LengthCell | None:
    """The cell where a batch limit or pools need fewer than ``most`` GPUs; None where they do not.

    ``caps`` and ``pools`` say which of them could.
    """
    peak, spares = question.demand.sustained_rps, question.scenario.deployment.spare_instances
    split = smallest_pools(question, own) if pools else None
    fewer = split is not None and split.gpus.min() < most
    if not fewer and not caps:
        return None
    capped = with_batch_limits(question, own)
    able = capped.capacity.rps > 0
    needed = (instances_needed(peak, capped.capacity.rps[able]) + spares) * capped.candidates.gpus[able]
    if not fewer and needed.min(initial=most) >= most:
        return None
    smallest = with_smallest(question, own, capped, split if pools else smallest_pools(question, own))
    among = smallest.deployments
    best = int(among.order()[0])
    if among.gpus[best] >= most:
        return None
    return _served(question, among[best].label, int(among.gpus[best]), among[best].systems)


def _columns(questions: Sequence[Question]) -> TrafficColumns:
    """Lengths of every question as columns, (len(questions), 1)."""
    traffic = [q.traffic for q in questions]
    return TrafficColumns(
        input_tokens=np.array([[t.input_tokens] for t in traffic]),
        output_tokens=np.array([[t.output_tokens] for t in traffic]),
        cached_tokens=np.array([[t.cached_tokens] for t in traffic]),
        output_variation=traffic[0].output_variation,
    )


def _served(question: Question, configuration: str, gpus: int, systems: int) -> LengthCell:
    traffic = question.traffic
    return LengthCell.model_construct(
        input_tokens=traffic.input_tokens,
        output_tokens=traffic.output_tokens,
        gpus=gpus,
        systems=systems,
        configuration=configuration,
        reason="",
    )


def _unserved(question: Question, reason: str) -> LengthCell:
    traffic = question.traffic
    return LengthCell(
        input_tokens=traffic.input_tokens,
        output_tokens=traffic.output_tokens,
        gpus=None,
        systems=None,
        configuration="",
        reason=reason,
    )
