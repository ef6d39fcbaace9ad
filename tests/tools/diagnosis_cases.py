"""Diagnoses of deployments whose truth is known: ``python -m tests.tools.diagnosis_cases [NUMBER] [--csv FILE]``.

Every case is a plan, one or two causes put into an independent simulation of it (:mod:`tests.tools.deployment_truth`),
and what the product says after reading its metrics. The truth is the Shapley value by that simulation.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from collectors.backends.scrape.backend import RingBackend
from collectors.backends.scrape.promql.samples import Track, Tracks
from collectors.backends.scrape.scraper import Target
from collectors.source import Source, source_from
from reality.compare import Planned, planned_of
from reality.diagnosis.causes import Cause
from reality.diagnosis.diagnose import diagnose, read_for_diagnosis
from reality.diagnosis.result import Diagnosis
from reality.diagnosis.worlds import Circumstances, Worlds
from sizing.catalog.precisions import precisions
from sizing.planning.analytic import analytic_plan
from sizing.scenario.schema import Scenario
from tests.tools.deployment_truth import History, StepTimes, World, run, series_of, step_times_of

NOW, WINDOW_S, LEAD_S = 1_800_000_000.0, 1800.0, 600.0
SINGLE: tuple[Cause, ...] = (
    "load",
    "prompts",
    "outputs",
    "cache_hits",
    "burstiness",
    "replicas",
    "kv_cache",
    "batch_limit",
    "routing",
    "slow_gpu",
    "weights",
    "engine",
)
SCENARIOS: Mapping[str, Mapping[str, Any]] = {
    "llama-70b": {
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "workload": {
            "input_tokens": {"p50": 1550, "p95": 3800},
            "output_tokens": {"p50": 200, "p95": 640},
            "peak_rps": 15,
            "prefix_cached_tokens": 700,
        },
        "limits": {"ttft_ms": 1000, "itl_ms": 60, "percentile": 95},
        "deployment": {"gpus": ["h100_sxm"], "precisions": ["fp8"], "tp": [2]},
    },
    "llama-8b": {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "workload": {
            "input_tokens": {"p50": 900, "p95": 2500},
            "output_tokens": {"p50": 250, "p95": 700},
            "peak_rps": 60,
            "prefix_cached_tokens": 350,
        },
        "limits": {"ttft_ms": 500, "itl_ms": 25, "percentile": 95},
        "deployment": {"gpus": ["h100_sxm"], "precisions": ["fp8"], "tp": [1]},
    },
    "qwen-32b": {
        "model": "Qwen/Qwen2.5-32B-Instruct",
        "workload": {
            "input_tokens": {"p50": 2000, "p95": 5000},
            "output_tokens": {"p50": 150, "p95": 450},
            "peak_rps": 9,
            "prefix_cached_tokens": 900,
        },
        "limits": {"ttft_ms": 1500, "itl_ms": 75, "e2e_ms": 40000, "percentile": 90},
        "deployment": {"gpus": ["h200_sxm"], "precisions": ["fp8"], "tp": [1]},
    },
    "llama-8b-l40s": {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "workload": {
            "input_tokens": {"p50": 700, "p95": 1600},
            "output_tokens": {"p50": 180, "p95": 500},
            "peak_rps": 16,
            "prefix_cached_tokens": 250,
        },
        "limits": {"ttft_ms": 1000, "itl_ms": 75, "percentile": 95},
        "deployment": {"gpus": ["l40s"], "precisions": ["fp8"], "tp": [1]},
    },
}
FIXED = {"engines": ["vllm"], "kv_precisions": ["fp16"], "confidence": 50, "speculation": "off"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Ground:
    """A plan, and the independent world that is exactly as planned; ``tokens``: its KV cache as engines print it."""

    name: str
    planned: Planned
    world: World
    tokens: int
    worlds: Worlds
    running: float
    context: float

    def steps(self, precision: str) -> tuple[StepTimes, float]:
        """Step times and KV cache (relative) of the plan in another weight format."""
        assert self.planned.row is not None
        row = replace(self.planned.row, precision=precisions()[precision])
        replica = self.worlds.replica(row, self.prompt, self.output)
        steps = step_times_of(replica, running=self.running, context=self.context, prompt=self.new)
        return steps, self.worlds.printed_tokens(row) / self.tokens

    prompt: float
    output: float
    new: float


@cache
def ground(name: str) -> Ground:
    """The plan of a scenario and the world that is as planned."""
    given = SCENARIOS[name]
    asked = Scenario.model_validate(
        {"name": name, **given, "deployment": {**given["deployment"], **FIXED}}  # type: ignore[dict-item]
    )
    planned = planned_of(asked, analytic_plan(asked))
    question, row = planned.question, planned.row
    assert row is not None, planned.why_not
    assert planned.plan.deployment is not None
    row = replace(row, batch_limit=None)
    planned = replace(planned, row=row)
    worlds = Worlds(question, window_s=WINDOW_S)
    shares = (np.arange(4096) + 0.5) / 4096
    prompt, output = question.prompt.at(shares), question.output.at(shares)
    cached = np.minimum(prompt - 1.0, question.traffic.cached_tokens)
    replicas = planned.plan.deployment.instances
    one = Circumstances(
        rps=question.demand.sustained_rps,
        prompt=prompt,
        output=output,
        hits=float(cached.mean() / prompt.mean()),
        cv=1.0,
        profile=(),
        profile_step_s=1.0,
        replicas=replicas,
        row=row,
        kv_scale=1.0,
        batch_limit=None,
        shares=(),
        slowness=(),
        decode=1.0,
        prefill=1.0,
    )
    running = worlds.run(one, lasting=True).running / replicas
    replica = worlds.replica(row, float(prompt.mean()), float(output.mean()))
    context, new = float(prompt.mean() + output.mean() / 2.0), float((prompt - cached).mean())
    tokens = int(worlds.printed_tokens(row))
    world = World(
        steps=step_times_of(replica, running=running, context=context, prompt=new),
        rps=one.rps,
        prompt=(question.prompt.p50, question.prompt.p95),
        output=(question.output.p50, question.output.p95),
        hits=one.hits,
        replicas=replicas,
        slots=replica.max_sequences,
        budget=int(replica.token_budget),
        kv_tokens=tokens,
        seconds=LEAD_S + WINDOW_S,
    )
    return Ground(
        name=name,
        planned=planned,
        world=world,
        tokens=tokens,
        worlds=worlds,
        running=running,
        context=context,
        prompt=float(prompt.mean()),
        output=float(output.mean()),
        new=new,
    )


def with_cause(world: World, cause: str, given: Ground, rng: np.random.Generator) -> World:
    """The world with one cause more, of random size."""
    low, high = SIZES.get(cause, (0.0, 0.0))
    size = float(rng.uniform(low, high))
    match cause:
        case "load":
            return world.changed(rps=world.rps * size)
        case "prompts":
            return world.changed(prompt=(world.prompt[0] * size, world.prompt[1] * size))
        case "outputs":
            return world.changed(output=(world.output[0] * size, world.output[1] * size))
        case "cache_hits":
            return world.changed(hits=world.hits * size)
        case "burstiness":
            return world.changed(cv=size)
        case "replicas":
            return world.changed(replicas=world.replicas - 1)
        case "kv_cache":
            return world.changed(kv_tokens=int(given.running * given.context * size) // 16 * 16)
        case "batch_limit":
            return world.changed(slots=max(int(given.running * size), 2))
        case "routing":
            return world.changed(shares=(size,))
        case "slow_gpu":
            return world.changed(slowness=(1.0, size))
        case "engine":
            return world.changed(engine=size)
        case _:
            steps, tokens = given.steps("bf16")
            return world.changed(steps=steps, kv_tokens=int(world.kv_tokens * tokens))


SIZES = {
    "load": (1.1, 1.3),
    "prompts": (1.25, 1.7),
    "outputs": (1.2, 1.5),
    "cache_hits": (0.0, 0.4),
    "burstiness": (2.5, 4.0),
    "kv_cache": (0.75, 1.05),
    "batch_limit": (0.8, 1.0),
    "routing": (1.6, 2.4),
    "slow_gpu": (1.4, 2.0),
    "engine": (1.2, 1.5),
}
"""How many times as large what a cause changes becomes, at least and at most; of a cache and a batch, of what runs."""


class KeptRing:
    """A history as a ring of scrapes: what a backend of the product asks for."""

    def __init__(self, tracks: Sequence[Track]) -> None:
        self._tracks = tracks

    def tracks(self, start_s: float, end_s: float, labels: Mapping[str, Mapping[str, str]]) -> Tracks:
        return Tracks(self._tracks)

    def newest(self) -> dict[str, tuple[float, str]]:
        return {}


def tracks_of(history: History, given: Ground, *, end_s: float) -> list[Track]:
    """Every series of a history that ends at a moment."""
    row = given.planned.row
    assert row is not None
    times = end_s - history.marks[-1] + history.marks
    product = {"h100_sxm": "NVIDIA H100 80GB HBM3", "h200_sxm": "NVIDIA H200", "l40s": "NVIDIA L40S"}[row.gpu.id]
    rows = series_of(history, model=given.planned.question.scenario.model, product=product, gpus=row.gpus)  # type: ignore[arg-type]
    return [Track({"__name__": name, **dict(labels)}, times, values, np.array([])) for name, labels, values in rows]


def backend_of(history: History, given: Ground) -> tuple[RingBackend, Source]:
    """A history as the product reads it; its end is :data:`NOW`."""
    tracks = tracks_of(history, given, end_s=NOW)
    backend = RingBackend(KeptRing(tracks), [Target("http://server-0:8000/metrics")], clock=lambda: NOW)  # type: ignore[arg-type]
    raw = {"schema_version": 1, "name": "truth", "prometheus": {"url": "http://127.0.0.1:9"}, "window_s": WINDOW_S}
    return backend, source_from(raw)


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A case with its truth: percentiles of the limits, and the share of each cause in ms by quantity."""

    number: int
    ground: Ground
    causes: tuple[str, ...]
    history: History
    truth: Mapping[str, float]
    shares: Mapping[str, Mapping[str, float]]
    planned: Mapping[str, float] = field(default_factory=dict)

    @property
    def limits(self) -> dict[str, float]:
        limits = self.ground.planned.question.limits
        every = {"ttft_ms": limits.ttft_s, "tpot_ms": limits.itl_s, "e2e_ms": limits.e2e_s}
        return {name: seconds * 1e3 for name, seconds in every.items() if np.isfinite(seconds)}

    @property
    def worst(self) -> str:
        """The limit whose percentile is highest against it."""
        return max(self.limits, key=lambda name: self.truth[name] / self.limits[name])


def cases(number: int, seed: int = 0) -> Iterator[Case]:
    """Unchanged, single and paired causes in turn, over all plans."""
    rng = np.random.default_rng(seed)
    names = list(SCENARIOS)
    for i in range(number):
        given = ground(names[i % len(names)])
        kind = (i // len(names)) % 5
        causes: tuple[str, ...] = ()
        if kind in (1, 2):
            causes = (SINGLE[int(rng.integers(len(SINGLE)))],)
        elif kind in (3, 4):
            causes = tuple(str(one) for one in rng.choice(SINGLE, 2, replace=False))
        yield case(i, given, causes, int(rng.integers(1, 2**31)))


def case(number: int, given: Ground, causes: Sequence[str], seed: int) -> Case:
    """One case with the truth of its causes."""
    start = given.world.changed(seed=seed % 100_003)
    worlds = {frozenset[str](): start}
    for some in [(c,) for c in causes] + ([tuple(causes)] if len(causes) > 1 else []):
        world = start
        for cause in some:
            world = with_cause(world, cause, given, np.random.default_rng((seed, SINGLE.index(cause))))  # type: ignore[arg-type]
        worlds[frozenset(some)] = world
    ran = {some: run(world) for some, world in worlds.items()}
    percent = given.planned.question.limits.percentile
    truth = {
        some: {
            name: h.percentile(name, percent, LEAD_S, LEAD_S + WINDOW_S) for name in ("ttft_ms", "tpot_ms", "e2e_ms")
        }
        for some, h in ran.items()
    }
    every = frozenset(causes)
    shares = {
        name: {cause: _share(cause, every, {some: values[name] for some, values in truth.items()}) for cause in causes}
        for name in truth[every]
    }
    return Case(
        number=number,
        ground=given,
        causes=tuple(causes),
        history=ran[every],
        truth=truth[every],
        shares=shares,
        planned=truth[frozenset()],
    )


def _share(cause: str, every: frozenset[str], values: Mapping[frozenset[str], float]) -> float:
    """The Shapley value of one of at most two causes."""
    alone = values[frozenset({cause})] - values[frozenset()]
    return alone if len(every) == 1 else (alone + values[every] - values[every - {cause}]) / 2.0


def diagnosed(one: Case) -> tuple[Diagnosis, float]:
    """What the product says of a case, and the seconds it took after reading."""
    backend, source = backend_of(one.history, one.ground)
    reading = read_for_diagnosis(
        one.ground.planned.question.limits, source, backend=backend, at_s=NOW, clock=lambda: NOW
    )
    begun = time.perf_counter()
    return diagnose(one.ground.planned, reading), time.perf_counter() - begun


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


NOTICEABLE = 0.08
"""Part of the planned percentile that a cause must change before it has to be named."""


NEAR_TIE = 0.1
"""Part of the gap by which two causes must differ before one of them is the larger: their shares are as uncertain."""


def scored(one: Case) -> Score:
    """The product's answer against the truth."""
    said, seconds = diagnosed(one)
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
    verdicts = {row.quantity: row.verdict for row in said.limits}
    judged = sum(
        verdicts.get(name) == ("broken" if one.truth[name] > limit else "met") for name, limit in one.limits.items()
    )
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
        limits=len(one.limits),
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
    parser = argparse.ArgumentParser(prog="python -m tests.tools.diagnosis_cases")
    parser.add_argument("number", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    scores = []
    for one in cases(given.number, given.seed):
        scores.append(scored(one))
        last = scores[-1]
        if last.right is False or last.limits_right < last.limits:
            print(
                f"{last.number:3} {last.plan:14} [{last.causes}] {last.expected} -> {last.named}: {last.headline}",
                flush=True,
            )
    print(summary(scores))
    if given.csv:
        with given.csv.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, list(vars(scores[0])))
            writer.writeheader()
            writer.writerows(vars(score) for score in scores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
