"""The comparison in one sentence, and as text for a terminal."""

from collections.abc import Sequence

from commandline.percentiles import HEADLINE, key_of
from reality.labels import RATIOS, SHARE_OF_PROMPT, SHORT
from reality.result import VERDICT_WORDS, Interval, PerformanceRow, RealityComparison, TrafficRow
from reality.traffic import in_words
from reality.verdict import says_little
from sizing.base.format import UNKNOWN, counted, interval, ms, rounded, significant

KEY_ROWS = (
    *(f"{name}.{key_of(HEADLINE)}" for name in ("ttft_ms", "tpot_ms", "e2e_ms")),
    "ttft_ms.mean",
    "tpot_ms.mean",
    "e2e_ms.mean",
    "output_tokens_per_s_per_gpu",
    "kv_capacity_tokens",
    "replicas",
    "gpus",
)
"""Rows in the order in which one is named when it is off."""

SILENT = {"unreachable": "cannot be reached", "stale": "is stale", "no_data": "has no data"}
COUNTED = ("kv_capacity_tokens", "replicas", "gpus")
"""Rows about what is there; the others are about how fast it is."""
MOST_NAMED = 2
"""Rows that are off and named in the sentence. Chosen: it stays one."""
NARROW = 0.1
"""Relative width of an interval below which two digits would not tell its ends apart."""


def answer(comparison: RealityComparison, *, foreign: Sequence[str] = (), silent: str = "") -> str:
    """The finding in one sentence; two where traffic and prediction both have something to say."""
    if silent:
        return f"No verdict: {comparison.source} {SILENT.get(comparison.state, comparison.state)}. {silent}"
    if foreign:
        return f"No verdict: this is not the planned deployment. {foreign[0]}"
    traffic = in_words(comparison.traffic)
    about_traffic = f"{traffic[0].upper()}{traffic[1:]}. " if traffic else ""
    load_rows = [r for r in comparison.performance if r.key not in COUNTED]
    judged = [r for r in load_rows if r.verdict != "cannot_judge"]
    counted = [r for r in comparison.performance if r not in load_rows and r.verdict in ("higher", "lower")]
    off = [r for r in judged if r.verdict != "within"]
    if not judged:
        of_rows = (f"{row.reason}." for row in load_rows if row.reason)
        why = next((reason for reason in comparison.reasons if reason), "") or next(of_rows, "")
        return f"{about_traffic}No verdict on speed: {why[0].lower()}{why[1:]}{_counted(counted)}"
    if not off:
        inside = f"All {len(judged)} quantities lie within the 80 % interval predicted for this traffic."
        return f"{about_traffic}{inside}{_wide(judged)}{_counted(counted)}"
    return (
        f"{about_traffic}{len(judged) - len(off)} of {len(judged)} quantities lie within the 80 % interval predicted "
        f"for this traffic; {_off(off)}.{_wide(judged)}{_counted(counted)}"
    )


def _wide(judged: Sequence[PerformanceRow]) -> str:
    """How many rows agree only because their interval excludes almost nothing."""
    within = [r for r in judged if r.verdict == "within" and says_little(r.predicted)]
    if not within:
        return ""
    what = "1 of these intervals is" if len(within) == 1 else f"{len(within)} of these intervals are"
    return (
        f" {what} open or very wide, so that lying within says little: with steps as slow as they may be, queues would "
        "all but grow at this load."
    )


def _off(rows: Sequence[PerformanceRow]) -> str:
    """ "higher: p95 TTFT (650 ms, predicted 250 to 420 ms) and mean TPOT (...)"; one statistic of a latency each."""
    ranked = sorted(rows, key=lambda r: KEY_ROWS.index(r.key) if r.key in KEY_ROWS else len(KEY_ROWS))
    first = {row.measured_as: row for row in reversed(ranked)}
    named = [row for row in ranked if first[row.measured_as] is row][:MOST_NAMED]
    parts = []
    for verdict in ("higher", "lower"):
        those = [
            f"{short_label(r)} ({shown(r.measured.value, r.unit)}, predicted {range_of(r.predicted, r.unit)})"
            for r in named
            if r.verdict == verdict
        ]
        if those:
            parts.append(f"{verdict} is {' and '.join(those)}")
    return "; ".join(parts)


def short_label(row: PerformanceRow) -> str:
    """What a row is called in a sentence: "p95 TTFT"."""
    return SHORT.get(row.key, row.label)


def _counted(rows: Sequence[PerformanceRow]) -> str:
    if not rows:
        return ""
    counts = [
        f"{r.label} {shown(r.measured.value, r.unit)} instead of {shown(r.predicted.value, r.unit)}" for r in rows
    ]
    return f" {', '.join(counts)}."


def shown(value: float | None, unit: str) -> str:
    """A value with its unit as a person reads it; unknown is never 0."""
    if value is None:
        return UNKNOWN
    if unit == "ms":
        return ms(value)
    if unit in RATIOS:
        return f"{significant(100.0 * value)} %"
    return f"{significant(value)} {unit}" if unit not in ("replicas", "GPUs") else f"{value:g}"


def range_of(given: Interval, unit: str) -> str:
    """Both ends with their unit; an open end is "or more"."""
    if given.low is None and given.high is None:
        return shown(given.value, unit)
    if given.high is None:
        return f"{shown(given.low, unit)} or more"
    if unit in RATIOS:
        return interval(100.0 * (given.low or 0.0), 100.0 * given.high, "%")
    if given.low == given.high:
        return shown(given.low, unit)
    narrow = given.high - (given.low or 0.0) < NARROW * given.high
    ends = (rounded(given.low or 0.0), rounded(given.high))
    return interval(*ends, "" if unit in ("replicas", "GPUs") else unit, digits=3 if narrow else 2)


def percent_of(fraction: float | None) -> str:
    """A signed percentage; "" where there is none."""
    if fraction is None:
        return ""
    percent = round(fraction * 100)
    return f"{percent:+d} %" if percent else "0 %"


def as_text(comparison: RealityComparison) -> str:
    """The comparison for a terminal."""
    lines = [
        comparison.answer,
        "",
        f"{comparison.scenario} against {comparison.source}, {comparison.window_s:g} s until {comparison.at}",
    ]
    if comparison.planned_deployment:
        lines.append(f"Planned       {comparison.planned_deployment}")
    lines += [f"Reason        {reason}" for reason in comparison.reasons]
    lines += ["", f"{'Traffic':38} {'planned':>18} {'measured':>18} {'80 % interval':>26} {'diff.':>8}  verdict"]
    for row in comparison.traffic:
        lines.append(
            f"{row.label:38} {_plain(row.planned, row.unit):>18} {_plain(row.measured.value, row.unit):>18} "
            f"{_ends(row.measured, row.unit):>26} {_difference(row.difference, row.unit):>8}  {_verdict(row)}"
        )
    lines += [
        "",
        f"{'Performance':38} {'predicted':>18} {'80 % interval':>26} {'measured':>18} {'interval':>26} "
        f"{'error':>8}  verdict",
    ]
    for one in comparison.performance:
        lines.append(
            f"{one.label:38} {_plain(one.predicted.value, one.unit):>18} {_ends(one.predicted, one.unit):>26} "
            f"{_plain(one.measured.value, one.unit):>18} {_ends(one.measured, one.unit):>26} "
            f"{percent_of(one.error):>8}  {_verdict(one)}"
        )
    lines += [
        "",
        *(f"Assumed: {text}" for text in comparison.assumptions),
        *(f"Note: {text}" for text in comparison.notes),
    ]
    if comparison.step_times:
        lines.append(f"Step times from {comparison.step_times}; {counted(comparison.requests, 'request')} simulated.")
    return "\n".join(lines)


def _plain(value: float | None, unit: str) -> str:
    return "" if value is None else shown(value, unit)


def _ends(ends: Interval, unit: str) -> str:
    return "" if ends.low is None and ends.high is None else range_of(ends, unit)


def _difference(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value * 100:+.0f} pt" if unit == SHARE_OF_PROMPT else percent_of(value)


def _verdict(row: TrafficRow | PerformanceRow) -> str:
    return VERDICT_WORDS[row.verdict] + (f" ({row.reason})" if row.reason else "")
