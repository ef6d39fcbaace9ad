"""What is learned from three live windows at different loads: ``python -m tests.tools.learning_cases [NUMBER]``.

Step times are off by a random factor of 0.5 to 2, decode and prefill apart. Printed: errors of the mean gap at loads
that were not seen, before and after; and replicas needed against those that the independent simulation needs.
"""

import argparse
import math
import sys
from dataclasses import dataclass, replace

import numpy as np

from reality.diagnosis.diagnose import diagnose, read_for_diagnosis
from reality.diagnosis.result import Recalibration
from reality.diagnosis.worlds import Circumstances
from tests.tools.deployment_truth import StepTimes, World, run
from tests.tools.diagnosis_cases import LEAD_S, NOW, SCENARIOS, WINDOW_S, Ground, as_planned, backend_of, ground

UNSEEN = (0.25, 0.7, 1.05)
"""Loads relative to the highest that was seen, at which a prediction is held against the truth."""
MOST_REPLICAS = 12


@dataclass(frozen=True, kw_only=True)
class Learned:
    """Median errors of the mean gap at unseen loads before and after, those of the mean TTFT, and replicas needed by
    the product and by the truth; ``added``: what each sequence adds, as a share of the first part of a step."""

    decode: float
    prefill: float
    added: float
    before: float
    after: float
    ttft_before: float
    ttft_after: float
    needed: int | None
    truth: int | None


def case(given: Ground, decode: float, prefill: float, seed: int, added: float = 0.0) -> Learned:
    """One deployment whose steps are off, read over three windows at different loads."""
    steps = given.world.steps
    off = StepTimes(
        base=steps.base * decode,
        sequence=steps.sequence * decode + added * steps.base / given.running,
        context=steps.context * decode,
        prompt=steps.prompt * prefill,
    )
    top = 0.8 / max(decode, prefill, 0.9) / (1.0 + added)
    profile = (0.35 * top, 0.7 * top, top)
    world = given.world.changed(steps=off, profile=profile, seconds=3 * WINDOW_S, seed=seed)
    backend, source = backend_of(run(world), given)
    limits = given.planned.answer.question.limits
    said = diagnose(given.planned, read_for_diagnosis(limits, source, backend=backend, at_s=NOW, clock=lambda: NOW))
    found = said.recalibration
    plain = (1.0, 1.0, 1.0, 0.0)
    factors = plain if found is None else factors_of(found)
    errors: dict[tuple[str, bool], list[float]] = {}
    for share in UNSEEN:
        rps = world.rps * top * share
        there = run(world.changed(profile=(), rps=rps, seconds=LEAD_S + WINDOW_S, seed=seed + 7))
        truth = there.latencies(LEAD_S, LEAD_S + WINDOW_S)
        for known, learned in ((plain, False), (factors, True)):
            ran = given.worlds.run(as_world(given, rps, *known), lasting=True)
            for name in ("tpot_ms", "ttft_ms"):
                miss = abs(ran.mean_ms(name) / float(truth[name].mean()) - 1.0)
                errors.setdefault((name, learned), []).append(miss)
    middle = {key: float(np.median(each)) for key, each in errors.items()}
    return Learned(
        decode=decode,
        prefill=prefill,
        added=added,
        before=middle["tpot_ms", False],
        after=middle["tpot_ms", True],
        ttft_before=middle["ttft_ms", False],
        ttft_after=middle["ttft_ms", True],
        needed=said.replicas_needed,
        truth=needed(given, world.changed(profile=(), rps=world.rps * top, seconds=LEAD_S + WINDOW_S)),
    )


def factors_of(found: Recalibration) -> tuple[float, float, float, float]:
    """What was found of step times: decode, prefill, front, and seconds for each running sequence."""
    return found.factor_decode, found.factor_prefill, found.factor_fixed, found.sequence_ms / 1e3


def as_world(
    given: Ground, rps: float, decode: float, prefill: float, front: float, sequence_s: float
) -> Circumstances:
    """The plan's circumstances at a load, with factors on its step times and what each sequence adds."""
    shares = (np.arange(4096) + 0.5) / 4096
    question = given.planned.answer.question
    one = as_planned(given.planned, question.prompt.at(shares), question.output.at(shares), given.world.hits)
    return replace(one, rps=rps, decode=decode, prefill=prefill, front=front, sequence_s=sequence_s)


def needed(given: Ground, world: World) -> int | None:
    """The fewest replicas that keep the limits in the independent simulation."""
    limits = given.planned.answer.question.limits
    every = {"ttft_ms": limits.ttft_s, "tpot_ms": limits.itl_s, "e2e_ms": limits.e2e_s}
    for replicas in range(1, MOST_REPLICAS + 1):
        history = run(world.changed(replicas=replicas))
        kept = all(
            history.percentile(name, limits.percentile, LEAD_S, LEAD_S + WINDOW_S) <= seconds * 1e3
            for name, seconds in every.items()
            if math.isfinite(seconds)
        )
        if kept:
            return replicas
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.learning_cases")
    parser.add_argument("number", type=int, nargs="?", default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--added", type=float, default=0.0, help="of the first part of a step, by sequences, at most")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    rows = []
    for i in range(given.number):
        decode = float(np.exp(rng.uniform(math.log(0.5), math.log(2.0))))
        prefill = float(np.clip(decode * np.exp(rng.normal(0.0, 0.2)), 0.5, 2.0))
        added = float(rng.uniform(0.0, given.added)) if given.added else 0.0
        rows.append(case(ground(list(SCENARIOS)[i % len(SCENARIOS)]), decode, prefill, i + 1, added))
        print(f"{i:3} {rows[-1]}", flush=True)
    sized = [row for row in rows if row.needed is not None and row.truth is not None]
    near = sum(abs((row.needed or 0) - (row.truth or 0)) <= 1 for row in sized)
    print(f"error at unseen loads, median: {np.median([r.before for r in rows]):.3f} before")
    after = [row.after for row in rows]
    print(f"                               {np.median(after):.3f} after, most {max(after):.3f}")
    ttft = [np.median([getattr(row, name) for row in rows]) for name in ("ttft_before", "ttft_after")]
    print(f"of the mean TTFT, median: {ttft[0]:.3f} before, {ttft[1]:.3f} after")
    print(f"worse than before: {sum(row.after > row.before + 0.01 for row in rows)} of {len(rows)}")
    print(f"replicas needed within one: {near} of {len(sized)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
