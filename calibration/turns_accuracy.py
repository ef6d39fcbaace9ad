"""TTFT by turn, tokens/s of sessions and what routing and second tiers gain, beside published runs.

``python -m calibration.turns_accuracy`` predicts the runs of ``session_runs.yaml``, to which nothing is fitted, and
writes ``docs/accuracy/turns.csv``. ``assumed`` is what a publisher left out: such rows are told apart.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.base.choices import CacheRouting
from sizing.base.units import MS_PER_S
from sizing.planning.caches import second_tier
from sizing.question.configuration import Configuration
from sizing.question.reused import CacheState, reused_by_trace
from sizing.question.understand import Question, understand
from sizing.reuse.block_trace import BlockTrace
from sizing.reuse.in_flight import NOTHING_IN_COMMON, InCommon
from sizing.reuse.sessions import SecondTier, SessionShape, SessionTraffic
from sizing.reuse.stack_distance import stack_distances
from sizing.scenario.file import load_scenario
from sizing.scenario.prefix_reuse import reuse_of
from sizing.scenario.schema import KvOffload
from sizing.search.replicas import replica_at
from sizing.search.screen import evaluate_all
from sizing.simulator.closed_loop import closed_loop
from sizing.simulator.configured import KvTokens, kv_tokens
from sizing.simulator.fleet import Replica
from sizing.simulator.request_lengths import ObservedLengths
from sizing.simulator.stability import slots, stable_rps_of

RUNS = Path(__file__).with_name("session_runs.yaml")
TABLE = Path(__file__).parents[1] / "docs" / "accuracy" / "turns.csv"
SEED = 7
"""Another than that of the random routing, which would follow the groups of prompts otherwise."""
EACH_USER = 12
"""Requests for each in flight of a closed loop, and :data:`FEWEST` at least: the medians move by less than 2 %."""
FEWEST = 240
MIDDLE = 0.3, 0.9
"""Share of a closed loop's requests between which its rate is steady."""
ROUNDS = 6
"""How often caches and the time that an answer takes are worked out, each from the other."""
MILLION = 1e6
DRAWN = 6000
"""Requests that are drawn of groups of prompts."""
PAGE = 1000
"""Tokens of a block of a shared prompt: prompts are whole thousands."""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One instance as the engine predicts it, with its KV cache."""

    question: Question
    row: Configuration
    replica: Replica
    kv: KvTokens

    @classmethod
    def of(
        cls,
        named: Mapping[str, Any],
        prompt: float,
        output: float,
        cached: float = 0.0,
        common: InCommon = NOTHING_IN_COMMON,
    ) -> Instance:
        """The instance that a run names, for requests of these mean lengths with so much in common."""
        deployment: dict[str, Any] = {"confidence": 50, "serving": ["aggregated"]}
        lists = {"gpus": "gpu", "engines": "engine", "tp": "tp", "precisions": "precision"}
        deployment |= {key: [named[name]] for key, name in lists.items()}
        deployment |= {key: [named[name]] for key, name in {"ep": "ep", "kv_precisions": "kv"}.items() if name in named}
        lengths = {"input_tokens": prompt, "output_tokens": output, "prefix_cached_tokens": min(cached, prompt - 1)}
        workload = {**lengths, "peak_rps": 0.01}
        scenario = load_scenario({"model": named["model"], "workload": workload, "deployment": deployment})
        named_alone = understand(scenario)
        question = replace(named_alone, traffic=replace(named_alone.traffic, in_common=common))
        evaluated = evaluate_all(question)
        index, row = next(
            (i, row) for i, row in enumerate(evaluated.candidates.rows) if row.tp == named["tp"] and row.pp == row.dp
        )
        kv = kv_tokens(question.model, row, question.traffic)
        return cls(question=question, row=row, replica=replica_at(question, evaluated, index), kv=kv)

    def loop(self, users: int, prompt: Floats, output: Floats, cached: Floats) -> NDArray[Any]:
        """Records of a closed loop of these requests."""
        rows = np.stack([prompt, output, np.minimum(cached, prompt - 1.0), np.full(len(prompt), -1.0)])
        return closed_loop(self.replica, np.rint(rows), users)

    def tier(self, gib: float, gb_per_s: float | None = None) -> SecondTier:
        """A second tier beside it, as of host memory where no rate is given."""
        offload = KvOffload(tier="host_memory", gib_per_gpu=gib, gbs_per_gpu=gb_per_s)
        return second_tier(self.question, self.row, 1, offload)


def judged(runs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each published figure: what, source, setting, measured, predicted, error, and what was assumed."""
    yield from _cold(runs["cold"])
    for run in runs["replay"]["runs"]:
        yield from _replayed(runs["replay"]["source"], run)
    yield from _in_rounds(runs["rounds"])
    yield from _shared_prompts(runs["shared_prompts"])
    yield from _conversations(runs["routing"])
    yield from _prefixes(runs["routing"])


def _row(what: str, source: str, setting: str, measured: float, predicted: float, assumed: str = "") -> dict[str, Any]:
    return {
        "what": what,
        "source": source,
        "setting": setting,
        "measured": measured,
        "predicted": float(f"{predicted:.4g}"),
        "error_percent": round(100.0 * (predicted / measured - 1.0), 1),
        "assumed": assumed,
    }


def _cold(of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """TTFT of prompts that no cache holds, alone."""
    for run in of["runs"]:
        prompt = np.full(3, float(run["tokens"]))
        records = Instance.of(run, run["tokens"], 2).loop(1, prompt, np.ones(3), np.zeros(3))
        setting = (
            f"{run['model'].partition('/')[2]}, {run['tp']} x {run['gpu']}, {run['engine']}, {run['tokens']} tokens"
        )
        yield _row("TTFT of a first turn, ms", of["source"], setting, run["ttft_ms"], _ttft_s(records) * MS_PER_S)


def _ttft_s(records: NDArray[Any]) -> float:
    return float(np.mean(records["first"] - records["arrived"]))


def _replayed(source: str, run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Tokens/s, as in flight over the median ITL, and median TTFT of recorded sessions."""
    turns, assumed = run["turns"], run.get("assumed", "")
    mean_share = float(np.mean([share for _, share, _, _ in run["rows"]]))
    instance = Instance.of(run["instance"], turns["prompt"], turns["output"], mean_share * turns["prompt"])
    for users, share, tokens_per_s, ttft_s in run["rows"]:
        asks, rng = max(users * EACH_USER, FEWEST), np.random.default_rng(SEED)
        prompts, answers = (_spread(rng, asks, turns[name], turns[f"{name}_median"]) for name in ("prompt", "output"))
        records = instance.loop(users, prompts, answers, share * prompts)
        setting = f"{run['name']}, {users} in flight"
        itl_s = np.median((records["finished"] - records["first"]) / np.maximum(records["output"] - 1.0, 1.0))
        yield _row("tokens/s of sessions", source, setting, tokens_per_s, users / float(itl_s), assumed)
        ttft = float(np.median(records["first"] - records["arrived"]))
        yield _row("TTFT of later turns, s", source, setting, ttft_s, ttft, assumed)


def _spread(rng: np.random.Generator, asks: int, mean: float, middle: float) -> Floats:
    """Lengths of so many requests, log-normal of that mean and median."""
    sigma = np.sqrt(2.0 * np.log(mean / middle))
    return np.asarray(np.maximum(middle * np.exp(sigma * rng.standard_normal(asks)), 2.0), dtype=np.float64)


def _in_rounds(of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """TTFT by turn, what caches hold by turn, and what tiers gain."""
    by_tier = {name: _rounds(of, tier) for name, tier in of["tiers"].items()}
    for tier, turn, share, ttft_s in of["rows"]:
        shares, times = by_tier[tier]
        setting = f"Qwen3-8B on A100 40 GB, {tier}, turn {turn + 1}"
        yield _row("share found", of["source"], setting, share, float(shares[turn]))
        yield _row("TTFT by turn, s", of["source"], setting, ttft_s, float(times[turn]))
    for better, worse, ttft, rate in of["gains"]:
        (_, fast), (_, slow) = by_tier[better], by_tier[worse]
        setting = f"{better} over {worse}"
        yield _row("gain of a second tier, TTFT", of["source"], setting, ttft, float(fast.mean() / slow.mean()))
        if rate is not None:
            per_s = float(slow.sum() / fast.sum())
            yield _row("gain of a second tier, prompt tokens/s", of["source"], setting, rate, per_s)


def _rounds(of: Mapping[str, Any], tier: Mapping[str, float]) -> tuple[Floats, Floats]:
    """Share of the prompts found and mean TTFT in seconds of every round, each (rounds,)."""
    rng, clients, new, page = np.random.default_rng(SEED), of["clients"], of["tokens_a_round"], of["page"]
    turns = np.repeat(np.arange(1, of["rounds"] + 1), clients)
    asks = np.concatenate([rng.permutation(clients) for _ in range(of["rounds"])])
    blocks = [[(client, i) for i in range(turn * new // page)] for client, turn in zip(asks, turns, strict=True)]
    prompts = turns * float(new)
    instance = Instance.of(of["instance"], float(prompts.mean()), 1)
    trace = BlockTrace.of(prompts, blocks, page)
    on_gpu = _found(trace, instance.kv.capacity)
    second = instance.tier(tier["gib"], tier["gb_per_s"]) if tier else None
    held = on_gpu if second is None else np.maximum(_found(trace, second.capacity), on_gpu)
    saved = held if second is None else on_gpu + second.saves(held - on_gpu)
    shares, times = [], []
    for turn in range(1, of["rounds"] + 1):
        this = turns == turn
        shares.append(held[this].sum() / prompts[this].sum())
        times.append(_ttft_s(instance.loop(of["at_once"], prompts[this], np.ones(clients), saved[this])))
    return np.array(shares), np.array(times)


def _found(trace: BlockTrace, capacity: float) -> Floats:
    """Tokens of each prompt that one LRU cache of so many tokens holds, (R,)."""
    held = stack_distances(trace.blocks, trace.starts) <= capacity // trace.block_tokens
    tokens = held.astype(np.float64) * trace.block_tokens
    return np.bincount(trace.request_of, weights=tokens, minlength=len(trace)).astype(np.float64)


def _shared_prompts(of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What host memory gains where prompts of groups come again in random order."""
    for millions, shared, ttft, rate in of["rows"]:
        own = of["question"] + of["answer"]
        groups = round(millions * MILLION / (shared + of["each_group"] * own))
        order = np.random.default_rng(SEED).permutation(np.repeat(np.arange(groups), of["each_group"]))
        prompt = float(shared + of["question"])
        blocks = [[*((group, i) for i in range(shared // PAGE)), ask] for ask, group in enumerate(order)]
        trace = BlockTrace.of(np.full(len(order), prompt), blocks, PAGE)
        instance = Instance.of(of["instance"], prompt, of["answer"], shared / 2.0)
        second = instance.tier(of["host_gib"] / instance.row.gpus)
        on_gpu = _found(trace, instance.kv.capacity)
        both = on_gpu + second.saves(_found(trace, instance.kv.capacity + second.capacity) - on_gpu)
        ones = np.ones(len(order))
        slow, fast = (instance.loop(of["in_flight"], prompt * ones, of["answer"] * ones, c) for c in (on_gpu, both))
        setting = f"prompts of {shared} tokens, {millions} M tokens in all"
        gain = _ttft_s(fast) / _ttft_s(slow)
        yield _row("gain of a second tier, TTFT", of["source"], setting, ttft, gain, of["assumed"])
        gain = float(slow["finished"].max() / fast["finished"].max())
        yield _row("gain of a second tier, prompt tokens/s", of["source"], setting, rate, gain, of["assumed"])


def _conversations(of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Prompt tokens/s of long conversations over replicas, by routing, and what looking at prefixes gains."""
    run, shape = of["conversations"], SessionShape(**of["conversations"]["shape"], shared=0.0, think_s=0.0, tool_s=0.0)
    mean = float(shape.prompt(np.arange(1.0, shape.turns + 1.0)).mean())
    instance, predicted = Instance.of(of["instance"], mean, shape.answer, mean / 2.0), {}
    for routing, (users, measured) in run["rows"].items():
        predicted[routing] = _conversing(instance, shape, run["replicas"], users, routing)
        setting = f"conversations, {users} in flight, {routing}"
        yield _row("prompt tokens/s", of["source"], setting, measured, predicted[routing], run["assumed"])
    gain = run["rows"]["prefix_aware"][1] / run["rows"]["random"][1]
    now = predicted["prefix_aware"] / predicted["random"]
    yield _row("gain by routing", of["source"], "conversations", round(gain, 3), now, run["assumed"])


def _conversing(instance: Instance, shape: SessionShape, replicas: int, users: int, routing: CacheRouting) -> float:
    """Prompt tokens/s where so many conversations always are under way."""
    service_s, per_s, rng = 30.0, 0.0, np.random.default_rng(SEED)
    for _ in range(ROUNDS):
        traffic = SessionTraffic(shape=shape, sessions_per_s=users / shape.duration_s(service_s), service_s=service_s)
        rows = traffic.rows(instance.kv.capacity * replicas, replicas, routing)
        some = rng.choice(len(rows.share), FEWEST, p=rows.share / rows.share.sum())
        records = instance.loop(users // replicas, rows.prompt[some], rows.output[some], rows.cached[some])
        service_s = float(np.mean(records["finished"] - records["arrived"]))
        per_s = replicas * _rate(records) * float(rows.share @ rows.prompt)
    return per_s


def _rate(records: NDArray[Any]) -> float:
    """Requests/s of the middle of a closed loop."""
    ended = np.sort(records["finished"])
    first, last = (int(len(ended) * share) for share in MIDDLE)
    return float((last - first) / (ended[last] - ended[first]))


def _prefixes(of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Prompt tokens/s of saturated replicas whose prompts begin with one of many, by routing, and the gain."""
    run = of["prefixes"]
    prompt, predicted = float(run["prompt"] + run["question"]), {}
    for routing, measured in run["rows"].items():
        predicted[routing] = _saturated(of, run, routing) * prompt
        yield _row("prompt tokens/s", of["source"], f"shared prompts, {routing}", measured, predicted[routing])
    gain = run["rows"]["prefix_aware"] / run["rows"]["random"]
    now = predicted["prefix_aware"] / predicted["random"]
    yield _row("gain by routing", of["source"], "shared prompts", gain, now)


def _saturated(of: Mapping[str, Any], run: Mapping[str, Any], routing: CacheRouting) -> float:
    """Requests/s of all replicas, more than which do not end however many are sent, as a plan of their trace counts."""
    rng, replicas, prompt = np.random.default_rng(SEED), run["replicas"], float(run["prompt"] + run["question"])
    group, question = rng.integers(0, run["groups"], DRAWN), rng.integers(0, run["questions"], DRAWN)
    page = run["question"]
    blocks = [
        [*((g, i) for i in range(run["prompt"] // page)), (g, "asks", q)]
        for g, q in zip(group.tolist(), question.tolist(), strict=True)
    ]
    reuse = reuse_of(BlockTrace.of(np.full(DRAWN, prompt), blocks, page), "shared prompts")
    assert reuse is not None
    alone = Instance.of(of["instance"], prompt, run["answer"])
    lengths, capacity, service_s, rps = (alone.question.prompt, alone.question.output), alone.kv.capacity, 30.0, 0.5
    for _ in range(ROUNDS):
        state = CacheState(capacity_tokens=capacity * replicas, replicas=replicas, service_s=service_s)
        reused = reused_by_trace(reuse, lengths, rps * replicas, routing, state)
        cached = reused.rows.mean_cached
        instance = Instance.of(of["instance"], prompt, run["answer"], cached, reused.in_common)
        requests = np.repeat([[prompt], [float(run["answer"])], [np.rint(cached)]], FEWEST, axis=1)
        rps = float(stable_rps_of(instance.replica, ObservedLengths(requests)))
        service_s = slots(instance.replica, requests) / rps
    return float(replicas * rps)


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Median error of each quantity by source, of rows of which all is stated, then of those with something assumed."""
    keys = dict.fromkeys((row["what"], row["source"], bool(row["assumed"])) for row in rows)
    lines = []
    for what, source, assumed in sorted(keys, key=lambda key: key[2]):
        some = [r for r in rows if (r["what"], r["source"], bool(r["assumed"])) == (what, source, assumed)]
        error = median(abs(float(r["error_percent"])) for r in some)
        kind = "something assumed" if assumed else "all stated"
        lines.append(f"{what}, {source}, {kind}: {len(some)} rows, median error {error:.1f} %.")
    return lines


def main() -> None:
    """Write the table and print what it says."""
    rows = list(judged(yaml.safe_load(RUNS.read_text(encoding="utf-8"))))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
