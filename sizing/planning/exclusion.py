"""GPUs that cannot serve the scenario, the nearest first; a change that would not help after all is not proposed."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.result import Excluded, Fix
from sizing.deployments.candidates import Candidates, enumerate_for
from sizing.deployments.memory import memory_fit
from sizing.planning.exclusion_reasons import apart, no_pools, not_offered, too_slow, too_small, unknown
from sizing.planning.sentences import beyond_context
from sizing.planning.unsupported import LOSSY, unsupported
from sizing.question.understand import Question
from sizing.search.drafted import with_drafts
from sizing.search.screen import Evaluated, all_configurations, evaluate_all, most_gpus, offered

NOT_ENOUGH = "That alone is not enough: a limit or the memory would still be exceeded."


def excluded(question: Question, evaluated: Evaluated, by_pools: Collection[str] = ()) -> tuple[Excluded, ...]:
    """One entry for every considered GPU on which no configuration meets the scenario, the nearest first.

    ``by_pools``: GPUs on which disaggregated pools serve it, whatever the aggregated configurations do.
    """
    everything = all_configurations(question)
    fitting = _rows_by_gpu(evaluated.candidates)
    enumerated = _rows_by_gpu(everything)
    out, short_of = [], dict[str, float]()
    only_pools = not question.scenario.deployment.allows("aggregated")
    model, allowed = question.model, question.allowed
    for gpu in question.gpus:
        if gpu.id in by_pools:
            continue
        fits = fitting.get(gpu.id, np.empty(0, dtype=np.intp))
        if not offered(question, gpu):
            out.append(not_offered(question, gpu))
        elif not gpu.sizable:
            out.append(unknown(gpu))
        elif gpu.id not in enumerated:
            runs = enumerate_for(model, gpu, allowed)
            out.append(apart(gpu, most_gpus(question, gpu)) if runs else unsupported(model, allowed, gpu))
        elif not len(fits):
            every = everything.take(enumerated[gpu.id])
            fit = memory_fit(model, every, question.traffic.resident_kv_tokens)
            out.append(too_small(question, every, fit))
            short_of[gpu.id] = float(np.min(fit.needed / fit.usable))
        elif not (evaluated.capacity.rps[fits] > 0).any():
            out.append(too_slow(question, evaluated, fits))
        elif only_pools:
            out.append(no_pools(question, gpu, [evaluated.candidates.rows[i] for i in fits]))
    entries = _checked(question, out)
    if beyond_context(question):
        entries = tuple(_never(e) for e in entries)
    return tuple(sorted(entries, key=lambda e: (*_distance(question, e), short_of.get(e.gpu, math.inf))))


def _never(entry: Excluded) -> Excluded:
    """The entry where no limit, GPU or format helps, because the model cannot read so long a prompt."""
    if entry.fix is not None and entry.fix.key == "workload.input_tokens":
        return entry
    never = "None: the prompt does not fit in the context window of the model."
    return entry.model_copy(update={"fix": None, "relaxation": never})


def _rows_by_gpu(candidates: Candidates) -> dict[str, NDArray[np.intp]]:
    """Positions of the rows of every GPU type."""
    number = candidates.gpu_number
    numbers, first = np.unique(number, return_index=True)
    return {candidates.rows[i].gpu.id: np.flatnonzero(number == n) for n, i in zip(numbers, first, strict=True)}


def _distance(question: Question, entry: Excluded) -> tuple[int, float]:
    """How far a GPU is from being usable: limits first, by the factor of the one that is missed most; then choices."""
    if entry.fix is None:
        return 2, 0.0
    if not entry.fix.relaxes_a_limit:
        return 1, 0.0
    limits = question.scenario.limits
    relaxed = ((one.value, getattr(limits, one.name)) for one in (entry.fix, *entry.fix.also))
    return 0, max(value / limit for value, limit in relaxed if isinstance(value, int | float) and limit)


def _checked(question: Question, entries: Sequence[Excluded]) -> tuple[Excluded, ...]:
    """The entries, without the fixes that would not let their GPU serve the scenario after all."""
    alike: dict[str, list[Excluded]] = {}
    for entry in entries:
        if entry.fix is not None and not entry.fix.relaxes_a_limit:
            alike.setdefault(f"{entry.fix.key} {entry.fix.value}", []).append(entry)
    fails: set[str] = set()
    for same in alike.values():
        fails |= {e.gpu for e in same} - _serving(_eased(question, same[0].fix), same)
    return tuple(
        e.model_copy(update={"fix": None, "relaxation": f"{e.relaxation} {NOT_ENOUGH}"}) if e.gpu in fails else e
        for e in entries
    )


def _eased(question: Question, fix: Fix | None) -> Question:
    """The question with one restriction lifted, or with a shorter prompt."""
    if fix is None:
        return question
    if fix.key == "deployment.location":
        deployment = question.scenario.deployment.model_copy(update={"location": fix.value})
        return replace(question, scenario=question.scenario.model_copy(update={"deployment": deployment}))
    if fix.key == "deployment.serving":
        return question  # aggregated configurations are what is evaluated
    if fix.key == "workload.input_tokens" and isinstance(fix.value, int):
        return replace(
            question, traffic=replace(question.traffic, input_tokens=fix.value + question.traffic.media.tokens)
        )
    if fix.key == "deployment.memory_fraction" and not isinstance(fix.value, list | str):
        return replace(question, allowed=replace(question.allowed, memory_fraction=fix.value))
    if fix.key == LOSSY.key:
        return replace(question, allowed=replace(question.allowed, accuracy="any"))
    value: Any = tuple(fix.value) if isinstance(fix.value, list) else ()
    return replace(question, allowed=replace(question.allowed, **{fix.name: value}))


def _serving(question: Question, entries: Sequence[Excluded]) -> set[str]:
    """Which of the excluded GPUs have a configuration that meets the question."""
    named = {e.gpu for e in entries}
    narrowed = replace(question, gpus=tuple(g for g in question.gpus if g.id in named))
    evaluated = evaluate_all(narrowed)
    serving = _carrying(evaluated)
    return serving if serving == named else serving | _carrying(with_drafts(narrowed, evaluated))


def _carrying(evaluated: Evaluated) -> set[str]:
    """GPUs of which a configuration carries any load within the limits."""
    return {evaluated.candidates.rows[i].gpu.id for i in np.flatnonzero(evaluated.capacity.rps > 0)}
