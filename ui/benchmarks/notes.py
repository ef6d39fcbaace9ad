"""What to know about a quantity of a benchmark that is compared, in one sentence or two each."""

from __future__ import annotations

from collections.abc import Iterable

from sizing.base.format import significant
from sizing.calibration.check import Check, Quantity
from sizing.scenario.schema import Benchmark
from ui.format import listed

COHORT = (
    "This benchmark keeps a fixed number of requests in flight (closed loop): they start together and wait for each "
    "other, which sets their TTFT. It is compared with a prediction of the same protocol, and never with the "
    "TTFT at a request rate that Size plans for."
)
LAST_IN_A_HUNDRED = (
    "It is compared, and calibrates nothing: a p99 is mostly queueing and chance. Its interval holds how far step "
    "times may be off; that a run of fewer than some thousand requests scatters widely comes on top."
)


def notes_on(benchmark: Benchmark, checked: Check, quantity: Quantity) -> list[str]:
    """What stands between the chart and the table of a quantity."""
    notes, latency = [], quantity != "output_tokens_per_s"
    if checked.unstable and latency:
        notes.append(_unstable(benchmark, checked))
    if checked.overloaded and latency:
        notes.append(_overloaded(benchmark, checked))
    if quantity == "ttft_ms" and any(p.mode == "fixed_concurrency" for p in benchmark.points):
        notes.append(COHORT)
    if quantity == "ttft_p99_ms":
        notes.append(LAST_IN_A_HUNDRED)
    return notes


def _unstable(benchmark: Benchmark, checked: Check) -> str:
    """Why points at a request rate have no predicted latency."""
    return (
        f"Unstable at {_rates(benchmark, checked.unstable)} requests/s: more than the "
        f"{significant(min(checked.unstable.values()))} that the prediction carries for ever. There a queue grows for "
        "as long as the run lasts, so that no latency is compared."
    )


def _overloaded(benchmark: Benchmark, checked: Check) -> str:
    """What the upper end of an interval is where slow step times have none."""
    return (
        f"At {_rates(benchmark, checked.overloaded)} requests/s an engine as slow as the interval allows would not "
        "keep up, and its queue would grow for as long as the run lasts. The upper end there is the latency at the "
        "heaviest load that such an engine carries."
    )


def _rates(benchmark: Benchmark, points: Iterable[int]) -> str:
    return listed([significant(r) for r in sorted({benchmark.points[i].request_rate_rps or 0.0 for i in points})])
