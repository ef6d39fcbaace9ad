"""What to know about a quantity of a benchmark that is compared, in one sentence or two each."""

from collections.abc import Iterable, Sequence

from sizing.base.format import significant
from sizing.calibration.check import Check, Quantity
from sizing.evidence.protocols import assumed_variation
from sizing.scenario.schema import Benchmark, BenchmarkPoint
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
    if offline := [p for p in benchmark.points if p.mode == "offline" and not latency]:
        notes.append(_offline(offline))
    return notes


def _offline(points: Sequence[BenchmarkPoint]) -> str:
    """What an offline run is compared with: it ends with its longest answer, when few requests are left."""
    if not any(p.requests for p in points):
        return "The file does not say how many requests the offline run sent: it is compared with one that never ends."
    if all(p.output_variation is not None for p in points):
        varied = "vary in length as they did"
    else:
        equal = not any(assumed_variation(p.output_tokens) for p in points if p.output_variation is None)
        varied = f"are taken {'to be of equal length' if equal else 'to vary in length as those of ShareGPT'}"
    return (
        "An offline run ends with its longest answer, when few requests are left, and its rate counts to that end. It "
        f"is compared with a run of as many requests whose answers {varied}."
    )


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
