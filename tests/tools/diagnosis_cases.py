"""Deployments whose truth is known: a plan, with causes put into an independent simulation of it.

The truth of a case is the Shapley value by that simulation (:mod:`tests.tools.deployment_truth`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from collectors.backends.scrape.backend import RingBackend
from collectors.backends.scrape.promql.samples import Track, Tracks
from collectors.backends.scrape.scraper import ScrapeTarget
from collectors.source import Source, source_from
from reality.compare import Planned, planned_of
from reality.diagnosis.causes import FIELDS, Cause
from reality.diagnosis.worlds import Circumstances, Worlds
from sizing.base.arrays import Floats
from sizing.catalog.precisions import precisions
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.scenario.schema import Scenario
from tests.tools.deployment_metrics import series_of
from tests.tools.deployment_truth import History, StepTimes, World, run, step_times_of

NOW, WINDOW_S, LEAD_S = 1_800_000_000.0, 1800.0, 600.0
SINGLE: tuple[Cause, ...] = tuple(FIELDS)
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
FIXED = {"kv_precisions": ["fp16"], "confidence": 50, "speculation": "off"}


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


def as_planned(planned: Planned, prompt: Floats, output: Floats, hits: float) -> Circumstances:
    """The circumstances of a plan with so long prompts and answers and a hit rate."""
    row, deployment = planned.row, planned.answer.plan.deployment
    assert row is not None
    assert deployment is not None
    return Circumstances(
        rps=planned.answer.question.demand.sustained_rps,
        prompt=prompt,
        output=output,
        hits=hits,
        cv=1.0,
        profile=(),
        profile_step_s=1.0,
        replicas=deployment.instances,
        row=row,
        kv_scale=1.0,
        batch_limit=None,
        shares=(),
        slowness=(),
        decode=1.0,
        prefill=1.0,
    )


def _plan_of(name: str, engine: str, load: float) -> Planned:
    """The plan of a scenario, without a limit on its batch."""
    given = SCENARIOS[name]
    workload = {**given["workload"], "peak_rps": given["workload"]["peak_rps"] * load}
    deployment = {**given["deployment"], **FIXED, "engines": [engine]}
    scenario = Scenario.model_validate({"name": name, **given, "workload": workload, "deployment": deployment})
    planned = planned_of(Answer.of(scenario, analytic_plan))
    assert planned.row is not None, planned.why_not
    return replace(planned, row=replace(planned.row, batch_limit=None))


@cache
def ground(name: str, engine: str = "vllm", load: float = 1.0) -> Ground:
    """The plan of a scenario for an engine at so many times its load, and the world that is as planned."""
    planned = _plan_of(name, engine, load)
    question, row = planned.answer.question, planned.row
    assert row is not None, planned.why_not
    worlds = Worlds(question, window_s=WINDOW_S)
    shares = (np.arange(4096) + 0.5) / 4096
    prompt, output = question.prompt.at(shares), question.output.at(shares)
    cached = np.minimum(prompt - 1.0, question.traffic.cached_tokens)
    one = as_planned(planned, prompt, output, float(cached.mean() / prompt.mean()))
    running = worlds.run(one, lasting=True).running / one.replicas
    replica = worlds.replica(row, float(prompt.mean()), float(output.mean()))
    context, new = float(prompt.mean() + output.mean() / 2.0), float((prompt - cached).mean())
    tokens = int(worlds.printed_tokens(row))
    world = World(
        steps=step_times_of(replica, running=running, context=context, prompt=new),
        rps=one.rps,
        prompt=(question.prompt.p50, question.prompt.p95),
        output=(question.output.p50, question.output.p95),
        hits=one.hits,
        replicas=one.replicas,
        slots=replica.max_sequences,
        budget=int(replica.token_budget),
        kv_tokens=tokens,
        seconds=LEAD_S + WINDOW_S,
    )
    return Ground(
        name=name if engine == "vllm" else f"{name} {engine}",
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
        case "front":  # so many times as long as requests are apart on a replica: the rest is queue
            return world.changed(front=size * world.replicas / world.rps)
        case _:
            steps, tokens = given.steps("bf16")
            return world.changed(steps=steps, kv_tokens=int(world.kv_tokens * tokens))


SIZES = {
    "front": (0.8, 0.95),
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
    rows = series_of(
        history,
        model=str(given.planned.answer.question.scenario.model),
        product=product,
        gpus=row.gpus,
        engine=row.engine.id,
    )
    return [Track({"__name__": name, **dict(labels)}, times, values, np.array([])) for name, labels, values in rows]


def backend_of(history: History, given: Ground) -> tuple[RingBackend, Source]:
    """A history as the product reads it; its end is :data:`NOW`."""
    tracks = tracks_of(history, given, end_s=NOW)
    backend = RingBackend(KeptRing(tracks), [ScrapeTarget("http://server-0:8000/metrics")], clock=lambda: NOW)  # type: ignore[arg-type]
    raw = {
        "schema_version": 1,
        "name": "truth",
        "prometheus": {"url": "http://127.0.0.1:9"},
        "selector": {"job": "vllm"},
        "window_s": WINDOW_S,
    }
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
        limits = self.ground.planned.answer.question.limits
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


def case(
    number: int,
    given: Ground,
    causes: Sequence[str],
    seed: int,
    *,
    shapes: tuple[str, str] = ("lognormal", "lognormal"),
) -> Case:
    """One case with the truth of its causes; ``shapes`` of prompts and answers, which no cause changes."""
    start = given.world.changed(seed=seed % 100_003, shapes=shapes)
    worlds = {frozenset[str](): start}
    for some in [(c,) for c in causes] + ([tuple(causes)] if len(causes) > 1 else []):
        world = start
        for cause in some:
            world = with_cause(world, cause, given, np.random.default_rng((seed, [*SINGLE, "front"].index(cause))))
        worlds[frozenset(some)] = world
    ran = {some: run(world) for some, world in worlds.items()}
    percent = given.planned.answer.question.limits.percentile
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
