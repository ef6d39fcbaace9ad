"""Deployments that are unlike what a plan takes for granted: lengths of other shapes, other engines, other loads.

``python -m tests.tools.unlike_cases [--seed N] [--kind unchanged|single|pair] [--csv FILE]`` diagnoses them as
:mod:`tests.tools.diagnosis_scores` does. Nothing changed where only the shape of lengths around the planned mean did.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.tools.diagnosis_cases import SCENARIOS, SINGLE, Case, case, ground
from tests.tools.diagnosis_scores import Score, scored, summary

ENGINES = ("vllm", "sglang", "trtllm", "nim", "tgi")
SHAPES = (
    ("lognormal", "lognormal"),
    ("lognormal", "exponential"),
    ("exponential", "exponential"),
    ("uniform", "lognormal"),
    ("gamma", "two_kinds"),
    ("two_kinds", "exponential"),
    ("fixed", "gamma"),
    ("exponential", "uniform"),
)
LOADS = (1.0, 0.5, 1.7)
NUMBERS = {"unchanged": 24, "single": 24, "pair": 16}
UNSEEN = {"nim": {"cache_hits", "kv_cache", "weights"}, "tgi": {"cache_hits"}, "vllm": set[str](), "sglang": set[str]()}
"""Causes that the metrics of an engine do not show: the sizes of NIM's cache, what of it is hit in NIM and TGI."""


@dataclass(frozen=True, kw_only=True)
class Unlike:
    """One deployment: plan, engine, load of the plan, shapes of prompts and answers, causes."""

    plan: str
    engine: str
    load: float
    shapes: tuple[str, str]
    causes: tuple[str, ...]
    seed: int

    def made(self, number: int) -> Case:
        """The case with its truth."""
        given = ground(self.plan, self.engine, self.load)
        return case(number, given, self.causes, self.seed, shapes=self.shapes)


def unlike(kind: str, seed: int) -> Iterator[Unlike]:
    """So many deployments of a kind, engines, plans, loads and shapes in turn."""
    rng = np.random.default_rng((seed, list(NUMBERS).index(kind)))
    for i in range(NUMBERS[kind]):
        engine, plan, load = ENGINES[i % len(ENGINES)], list(SCENARIOS)[i % len(SCENARIOS)], LOADS[i % len(LOADS)]
        unseen = UNSEEN.get(engine, set())
        if ground(plan, engine, load).world.replicas == 1:
            unseen = unseen | {"replicas", "routing", "slow_gpu"}
        seen = [one for one in SINGLE if one not in unseen]
        causes: tuple[str, ...] = ()
        if kind == "single":
            causes = (seen[(i // len(ENGINES) + 5 * i) % len(seen)],)
        elif kind == "pair":
            causes = tuple(str(one) for one in rng.choice(seen, 2, replace=False))
        yield Unlike(
            plan=plan,
            engine=engine,
            load=load,
            shapes=SHAPES[i % len(SHAPES)] if kind == "unchanged" else SHAPES[(i // 2) % 3],
            causes=causes,
            seed=int(rng.integers(1, 2**31)),
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.unlike_cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=list(NUMBERS), nargs="*", default=list(NUMBERS))
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    every: list[tuple[Unlike, Score]] = []
    for kind in given.kind:
        scores = []
        for i, one in enumerate(unlike(kind, given.seed)):
            scores.append(scored(one.made(i)))
            every.append((one, scores[-1]))
            last = scores[-1]
            if last.right is False or last.limits_right < last.limits:
                print(
                    f"{kind} {i:2} {last.plan} x{one.load:g} {'/'.join(one.shapes)} [{last.causes}] "
                    f"{last.expected or 'none'} -> {last.named or 'none'}: {last.headline}",
                    flush=True,
                )
        print(summary(scores), flush=True)
    if given.csv:
        with given.csv.open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow([*vars(every[0][0]), *vars(every[0][1])])
            writer.writerows([*vars(one).values(), *vars(score).values()] for one, score in every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
