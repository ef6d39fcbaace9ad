"""Diagnoses of deployments whose truth is known: ``python -m tests.tools.diagnosis_scores [NUMBER] [--csv FILE]``.

Read from memory by the product's own PromQL, or with ``--prometheus`` from a real Prometheus that holds the history.
"""

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from collectors.source import source_from
from reality.diagnosis.diagnose import Reading, diagnose, read_for_diagnosis
from reality.diagnosis.result import Diagnosis
from tests.tools.diagnosis_cases import NOW, WINDOW_S, Case, backend_of, cases, tracks_of
from tests.tools.recorded_case import recorded


def diagnosed(one: Case, *, prometheus: bool = False) -> tuple[Diagnosis, float]:
    """What the product says of a case, and the seconds it took after reading."""
    reading = from_prometheus(one) if prometheus else from_memory(one)
    begun = time.perf_counter()
    return diagnose(one.ground.planned, reading), time.perf_counter() - begun


def from_memory(one: Case) -> Reading:
    """What is read of a case by the product's own PromQL."""
    backend, source = backend_of(one.history, one.ground)
    limits = one.ground.planned.answer.question.limits
    return read_for_diagnosis(limits, source, backend=backend, at_s=NOW, clock=lambda: NOW)


def from_prometheus(one: Case) -> Reading:
    """The same from a real Prometheus, whose history ended a minute ago."""
    end_s = float(int(time.time())) - 60.0
    limits = one.ground.planned.answer.question.limits
    with recorded(tracks_of(one.history, one.ground, end_s=end_s), start_s=end_s - 7200.0, end_s=end_s) as url:
        raw = {"schema_version": 1, "name": "truth", "prometheus": {"url": url}, "window_s": WINDOW_S}
        return read_for_diagnosis(limits, source_from(raw), at_s=end_s)


@dataclass(frozen=True, kw_only=True)
class Score:
    """How one diagnosis did: the largest cause named (None: nothing changed), its share off by so many points of the
    gap, limits judged right of all, and seconds."""

    number: int
    plan: str
    causes: str
    expected: str
    named: str
    right: bool | None
    near: bool | None
    off_points: float | None
    limits_right: int
    limits: int
    state: str
    seconds: float
    headline: str


REPORTED_EVERY = 20
"""Cases after which the table so far is printed: all of them take an hour."""
NOTICEABLE = 0.08
"""Part of the planned percentile that a cause must change before it has to be named."""


NEAR_TIE = 0.1
"""Part of the gap by which two causes must differ before one of them is the larger: their shares are as uncertain."""


def scored(one: Case, *, prometheus: bool = False) -> Score:
    """The product's answer against the truth."""
    said, seconds = diagnosed(one, prometheus=prometheus)
    quantity = one.worst
    shares = one.shares[quantity]
    gap = one.truth[quantity] - one.planned[quantity]
    broken = one.truth[quantity] > one.limits[quantity]
    candidates = {c: s for c, s in shares.items() if s > 0} if broken else shares
    largest = max(candidates, key=lambda cause: abs(shares[cause]), default="")
    if largest and abs(shares[largest]) < NOTICEABLE * one.planned[quantity]:
        largest = ""
    off, right, near = None, None, None
    if largest:
        right = said.main_cause == largest
        near = right or abs(shares.get(str(said.main_cause), 0.0)) >= abs(shares[largest]) - NEAR_TIE * abs(gap)
        split = next((s for s in said.splits if s.quantity == quantity), None)
        mine = next((c for c in split.causes if c.cause == largest), None) if split else None
        if split and mine and split.measured_ms is not None and split.planned_ms is not None:
            own_gap = split.measured_ms - split.planned_ms
            off = abs(mine.share_ms / own_gap - shares[largest] / gap) * 100.0
    elif not one.causes:
        right = said.main_cause is None
    verdicts = {row.quantity: row.verdict for row in said.limits if row.requests and row.measured is not None}
    asked = {name: limit for name, limit in one.limits.items() if name in verdicts}
    judged = sum(verdicts[name] == ("broken" if one.truth[name] > limit else "met") for name, limit in asked.items())
    return Score(
        number=one.number,
        plan=one.ground.name,
        causes=" + ".join(one.causes),
        expected=largest,
        named=said.main_cause or "",
        right=right,
        near=near,
        off_points=off,
        limits_right=judged,
        limits=len(asked),
        state=said.state,
        seconds=seconds,
        headline=said.headline,
    )


def summary(scores: Sequence[Score]) -> str:
    """The table of the issue in a few lines."""
    named = [s for s in scores if s.expected]
    unchanged = [s for s in scores if not s.causes]
    off = [s.off_points for s in named if s.off_points is not None]
    lines = [
        f"{len(scores)} cases: {len(unchanged)} unchanged, {len(named)} with a noticeable cause",
        f"largest cause named      {sum(bool(s.right) for s in named)} of {len(named)}",
        f"or one as large        {sum(bool(s.near) for s in named)} of {len(named)} (within 10 points of the gap)",
        f"its share off, points    {np.median(off) if off else float('nan'):.1f} (median)",
        f"limits judged right      {sum(s.limits_right for s in scores)} of {sum(s.limits for s in scores)}",
        f"causes without a change  {sum(not s.right for s in unchanged)} of {len(unchanged)}",
        f"seconds, median and most {np.median([s.seconds for s in scores]):.2f} {max(s.seconds for s in scores):.2f}",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.diagnosis_scores")
    parser.add_argument("number", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--prometheus", action="store_true", help="through a real Prometheus")
    given = parser.parse_args()
    scores = []
    for one in cases(given.number, given.seed):
        scores.append(scored(one, prometheus=given.prometheus))
        last = scores[-1]
        if last.right is False or last.limits_right < last.limits:
            print(
                f"{last.number:3} {last.plan:14} [{last.causes}] {last.expected} -> {last.named}: {last.headline}",
                flush=True,
            )
        if len(scores) % REPORTED_EVERY == 0:
            print(summary(scores), flush=True)
    print(summary(scores))
    if given.csv:
        with given.csv.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, list(vars(scores[0])))
            writer.writeheader()
            writer.writerows(vars(score) for score in scores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
