"""Deployments that the screen puts behind the best only because it underrates pipelines.

The load model lets a prompt wait for the whole step before it; in a pipeline the chunks of several prompts are in
different stages at once. So deeper pipelines need fewer instances by simulation than by the screen, and those it
leaves just behind are worth a simulation of their own.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from sizing.question.configuration import Configuration
from sizing.search.aggregated import Aggregated, aggregated
from sizing.search.screen import instances_needed

JUST_BEHIND = 1.2
"""Over what the screen has the best cost (or take), up to which a pipeline is tried. Chosen: of 21 cheaper deployments
that the search missed in 247 random scenarios (22 November 2026), 15 were pipelines within it."""

MOST_TRIED = 2
"""Pipelines that are simulated beside what the search tries anyway. Chosen: few, as each costs time in every plan."""


def underrated(screened: Aggregated, best: int, least: float, known: Set[int]) -> list[int]:
    """Rows of pipelines not ``known`` that might come before the row ``best``, which turned out to count ``least``.

    By the screen they lie just behind it; without latency limits, by what they carry for ever, they would count less.
    """
    question, evaluated, counted = screened.question, screened.evaluated, screened.counted()
    if question.scenario.deployment.objective == "latency":  # is not made of instances
        return []
    place = np.flatnonzero(screened.index == best)
    just_behind = counted <= JUST_BEHIND * counted[place].min(initial=np.inf)
    staged = evaluated.candidates.pp[screened.index] > 1
    near = np.flatnonzero(just_behind & staged & ~np.isin(screened.index, list(known)))
    index = screened.index[near]
    for_ever = instances_needed(question.demand.sustained_rps, evaluated.capacity.stable_rps[index])
    near = near[aggregated(question, evaluated, index, for_ever).counted() < least]
    return _first_of_layouts(screened.take(near), {_layout(evaluated.candidates.rows[i]) for i in known})


def _first_of_layouts(near: Aggregated, seen: set[object]) -> list[int]:
    """Rows of the first of each layout on each GPU that was not ``seen``, best first by the screen."""
    kept = list[int]()
    for k in near.order() if len(near) else ():
        layout = _layout(near.row(k))
        if layout not in seen and len(kept) < MOST_TRIED:
            kept.append(int(near.index[k]))
        seen.add(layout)
    return kept


def _layout(row: Configuration) -> object:
    return row.gpu.id, row.tp, row.pp
