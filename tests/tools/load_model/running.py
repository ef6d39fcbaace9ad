"""Sequences that run at once where the KV cache is full: by the rule of memory, and counted by the simulator.

An engine that never runs out of work, with room for a few to many sequences, by engine and by how answers vary.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog.engines import Engine, engines
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.precisions import precisions
from sizing.catalog.resolve import resolve_model
from sizing.deployments.candidates import table
from sizing.deployments.concurrency import evictions, sequences_at_once
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.simulator.arrivals import requests
from sizing.simulator.configured import configured_replica
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import BUSY_S, KV_S, RUNNING_S
from sizing.simulator.pool import MeasuredSpan, SimulatedFleet

ENGINES = ("vllm", "sglang", "trtllm")
LENGTHS = ((200, 1000), (500, 500), (1000, 1000), (1000, 3000), (4000, 1000), (8000, 500))
"""Prompt and output tokens: chat, summaries, reasoning."""
ROOM = (10.0, 40.0, 150.0)
"""Sequences of full length that the KV cache holds: of big models on few GPUs, and of small ones."""
MODEL, GPU = "meta-llama/Llama-3.1-8B-Instruct", "h100_sxm"

BINS, FIRST, LAST = 400, 100, 300
"""Bins of a run, and those that are counted: the engine fills before, and empties after."""
ROUNDS, FEWEST, MOST = 60.0, 1_500, 9_000
"""Requests for every place, at least and at most. Chosen: because all cases then take six seconds."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """One case: sequences at once and evictions of a request, by the rule and counted; KV cache in use as a share."""

    engine: str
    prompt: int
    output: int
    variation: float
    room: float
    rule: float
    running: float
    evictions: float
    preempted: float
    kv_share: float

    @property
    def ratio(self) -> float:
        """What the rule says, divided by what was counted."""
        return self.rule / self.running


def cases() -> Iterator[Counted]:
    """Every engine with all lengths, answers all alike and with a squared variation of 1."""
    for engine in ENGINES:
        for prompt, output in LENGTHS:
            for variation in (0.0, 1.0):
                for room in ROOM:
                    yield case(engines()[engine], prompt, output, variation, room)


def case(engine: Engine, prompt: int, output: int, variation: float, room: float) -> Counted:
    """One engine with room for so many sequences of full length."""
    traffic = Traffic(input_tokens=prompt, output_tokens=output, output_variation=variation)
    row = Configuration(gpu=gpus()[GPU], engine=engine, precision=precisions()["bf16"], kv_precision="fp16")
    whole = traffic.resident_kv_tokens
    replica = replace(configured_replica(resolve_model(MODEL).model, row, traffic), kv_tokens=room * whole)
    held = prompt + engine.answer_held * (whole - prompt) + replica.waste_tokens
    rule = float(sequences_at_once(*(np.array([each]) for each in (room * whole, held, whole)))[0])
    running, kv_share, preempted = counted(replica, lengths(prompt, output, variation, rule))
    return Counted(
        engine=engine.id,
        prompt=prompt,
        output=output,
        variation=variation,
        room=room,
        rule=rule,
        running=running,
        evictions=float(evictions(table([row]), traffic, np.array([rule]))[0]),
        preempted=preempted,
        kv_share=kv_share,
    )


def lengths(prompt: int, output: int, variation: float, places: float) -> Floats:
    """Lengths (4, N) of the requests: answers lognormal, where they vary."""
    count = int(min(max(ROUNDS * places, FEWEST), MOST))
    sample = np.zeros((4, count))
    sigma = math.sqrt(math.log1p(variation))
    drawn = np.random.default_rng(0).lognormal(math.log(output) - sigma**2 / 2.0, sigma, count)
    sample[0], sample[1], sample[3] = prompt, np.maximum(np.round(drawn), 1.0), -1.0
    return sample


def counted(replica: Replica, sample: Floats) -> tuple[float, float, float]:
    """Sequences decoding at once and KV cache in use, means over time, and evictions of a request; all wait from the
    start."""
    count, fleet = sample.shape[1], Fleet(replicas=(replica,))
    first = SimulatedFleet(fleet, MeasuredSpan(expected=count, horizon_s=1.0, keep_records=True))
    end = float(first.run(requests(np.zeros(count), sample), math.inf)["finished"].max())
    pool = SimulatedFleet(fleet, MeasuredSpan(expected=count, horizon_s=end, bins=BINS))
    pool.run(requests(np.zeros(count), sample), math.inf)
    series = pool.world.series[FIRST:LAST].sum(axis=0)
    running, kv = series[RUNNING_S] / series[BUSY_S], series[KV_S] / series[BUSY_S]
    return float(running), float(kv), float(pool.state["preempted"]) / count


INTRODUCTION = """\
## KV cache full

An engine that never runs out of work, and whose KV cache limits it. TensorRT-LLM keeps room for whole answers; vLLM and
SGLang hold what their sequences have now: KV cache / (prompt + half of the answer), where SGLang keeps 0.098 of the
other half free as well, and half a sequence of full length stays free in the mean
(`sizing/deployments/concurrency.py`). vLLM then evicts each request (OSL - running) / ISL times, which is prompts to
compute again. Simulated with room for 10, 40 and 150 whole sequences; evictions are those of a request, by the rule and
simulated, medians of the cases."""


def section() -> Iterator[str]:
    """Lines of the section in docs/LOAD_MODEL.md."""
    yield from INTRODUCTION.splitlines()
    yield from ("", "| Engine | Answers | Cases | Running, rule / simulated | least | most | Evictions | KV in use |")
    yield "|---|---|---|---|---|---|---|---|"
    each = list(cases())
    for engine in ENGINES:
        for variation in (0.0, 1.0):
            some = [c for c in each if c.engine == engine and c.variation == variation]
            ratios = [c.ratio for c in some]
            evicted = [np.median([getattr(c, name) for c in some]) for name in ("evictions", "preempted")]
            yield (
                f"| {engines()[engine].label} | {'vary' if variation else 'fixed'} | {len(some)} "
                f"| {np.median(ratios):.2f} | {min(ratios):.2f} | {max(ratios):.2f} "
                f"| {evicted[0]:.2f} / {evicted[1]:.2f} | {np.median([c.kv_share for c in some]):.0%} |"
            )
