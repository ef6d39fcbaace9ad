"""What the screen may have underrated: candidates behind the first that the simulation might put before it.

The screen sizes all candidates alike, and what it first puts behind is simulated only here. It errs for three reasons:

- The load model lets a prompt wait for the whole step before it; in a pipeline the chunks of several prompts are in
  different stages at once. So deeper pipelines need fewer instances by simulation than by the screen.
- Where a pipeline comes first, that it was corrected and the same GPUs without stages were not must not be why it does.
- An instance more is a large step where instances are large. A latency that is overrated by some per cent makes three
  instances of eight GPUs out of two, and another GPU type at half as much again comes first.
"""

from collections.abc import Set
from dataclasses import replace

import numpy as np

from sizing.base.arrays import Flags, Floats, Rows
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.capacity import capacity
from sizing.search.aggregated import Aggregated, aggregated
from sizing.search.screen import Evaluated, instances_needed

JUST_BEHIND = 1.2
"""Ratio to the best of the screen by the objective, up to which a pipeline is simulated. Chosen: of 21 cheaper
deployments that the search missed in 247 random scenarios (22 November 2026), 15 were pipelines within it."""

MOST_TRIED = 2
"""Pipelines, and layouts without stages, that are simulated beside what the search tries anyway. Chosen: few, as each
costs time in every plan."""

OVERRATED = {"ttft_s": 4.0, "itl_s": 1.3, "e2e_s": 1.3}
"""Latencies of the screen over those of the simulation up to which a candidate is looked at again. Chosen: of 219
random scenarios with percentiles up to 99, bursts and lengths that vary (30 November 2026), 7 had a cheaper deployment
that the search missed without, 2 with 1.3 for TTFT too, none with 4, by 0.7 looks a scenario; near the stability limit,
where the wait is most of it, TTFT is overrated most."""

FAR_BEHIND = 2.0
"""Ratio to the first by the objective up to which such a candidate is looked for. Chosen: the largest that was missed
was 1.92, where one instance of eight GPUs did and the screen took two."""

MOST_RIVALS = 6
"""Such candidates that are simulated for one question. Chosen: more than nearly all have."""


def underrated(screened: Aggregated, best: int, least: float, known: Set[int]) -> list[int]:
    """Rows of pipelines not ``known`` that might come before the row ``best``, which turned out to count ``least``.

    By the screen they lie just behind it; without latency limits, by what they carry for ever, they would count less.
    """
    counted = screened.counted()
    just_behind = counted <= JUST_BEHIND * counted[screened.index == best].min(initial=np.inf)
    staged = screened.evaluated.candidates.pp[screened.index] > 1
    return _that_may_come_before(screened, just_behind & staged, least, known)


def unstaged(screened: Aggregated, best: int, least: float, known: Set[int]) -> list[int]:
    """Rows not ``known`` without stages, on the GPU, engine and weight format of the pipeline in the row ``best``, that
    might come before it: which counts ``least``."""
    rows = screened.evaluated.candidates.rows

    def kind(row: Configuration) -> object:
        return row.gpu.id, row.engine.id, row.precision.id

    alike = [rows[i].pp == 1 and kind(rows[i]) == kind(rows[best]) for i in screened.index]
    return _that_may_come_before(screened, np.array(alike, dtype=np.bool_), least, known)


def hopeful(screened: Aggregated, least: float, known: Set[int]) -> list[int]:
    """Rows not ``known`` that would count less than ``least`` if the screen overrates their latencies as it may."""
    question, evaluated = screened.question, screened.evaluated
    near = np.flatnonzero(_unknown(screened, known) & (screened.counted() <= FAR_BEHIND * least))
    if question.scenario.deployment.objective == "latency" or not len(near):
        return []
    rps = _at_best(question, evaluated, screened.index[near])
    working = screened.instances[near] - screened.standing_by[near]
    able = (instances_needed(question.demand.sustained_rps, rps) < working) | (screened.counted()[near] < least)
    return _that_count_less(screened, near[able], rps[able], least, known)[:MOST_RIVALS]


def _at_best(question: Question, evaluated: Evaluated, index: Rows) -> Floats:
    """Requests/s that candidates at ``index`` carry within the limits, (N,), if latencies are :data:`OVERRATED`."""
    limits = question.limits
    looser = replace(limits, **{name: getattr(limits, name) * factor for name, factor in OVERRATED.items()})
    most = question.scenario.deployment.max_utilization
    return capacity(evaluated.state.take(index), evaluated.latencies.take(index), looser, most).rps


def _that_may_come_before(screened: Aggregated, which: Flags, least: float, known: Set[int]) -> list[int]:
    """Rows not ``known`` of ``which`` (N,) that by what they carry for ever would count less than ``least``."""
    if screened.question.scenario.deployment.objective == "latency":  # is not made of instances
        return []
    near = np.flatnonzero(which & _unknown(screened, known))
    for_ever = screened.evaluated.capacity.stable_rps[screened.index[near]]
    return _that_count_less(screened, near, for_ever, least, known)[:MOST_TRIED]


def _unknown(screened: Aggregated, known: Set[int]) -> Flags:
    return ~np.isin(screened.index, list(known))


def _that_count_less(screened: Aggregated, near: Rows, rps: Floats, least: float, known: Set[int]) -> list[int]:
    """Rows of the first of each layout that is not ``known``, best first by the screen: of those at the positions
    ``near`` that would count less than ``least`` if an instance carried ``rps`` (N,)."""
    question, evaluated = screened.question, screened.evaluated
    enough = instances_needed(question.demand.sustained_rps, rps)
    less = screened.take(near[aggregated(question, evaluated, screened.index[near], enough).counted() < least])
    seen, kept = {_layout(evaluated.candidates.rows[i]) for i in known}, list[int]()
    for k in less.order() if len(less) else ():
        layout = _layout(less.row(k))
        if layout not in seen:
            kept.append(int(less.index[k]))
        seen.add(layout)
    return kept


def _layout(row: Configuration) -> object:
    return row.gpu.id, row.precision.id, row.tp, row.pp, row.dp
