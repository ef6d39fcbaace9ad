"""How fast it answers and what fills the memory of a GPU."""

from collections.abc import Iterator

from commandline.percentiles import name_of
from sharing.report.answer import against
from sharing.report.content import Block, Cell, Chart, ChartSeries, Column, Mark, Paragraph, Section, Table
from sharing.report.names import ORIGIN
from sharing.report.subject import ReportSubject
from sizing.base.format import interval, memory, ms, percent, requests_per_s, significant
from sizing.base.latency_and_cost import Latency
from sizing.base.result import Plan
from sizing.planning.explain_memory import memory_parts, prefill_memory_parts
from sizing.planning.start_up_lines import start_up_lines
from sizing.queueing.knee import on_curve

LATENCIES = "Latency of a request"
"""Title of the table of percentiles."""

CURVE_POINTS = 40
"""Loads that a curve is drawn at."""

FAR = 1.5
"""Times the latency that decided the plan from which an estimate of it, more or less, is not drawn. Chosen: because of
two that far apart a reader asks which one holds."""

ALIKE = 0.01
"""Share by which two latencies may differ and still be called the same."""


def latency(subject: ReportSubject) -> Section | None:
    """The chapter; None where nothing is deployed."""
    plan = subject.plan
    if plan.deployment is None or plan.latency is None:
        return None
    blocks: list[Block] = []
    if load := _load(plan):
        blocks.append(Paragraph(text=f"{load} Limited by: {plan.limited_by}."))
    blocks += [_percentiles(subject), *_curves(subject)]
    if memory_parts(plan):
        blocks += [_memory_chart(plan), _memory_table(plan)]
        if lines := start_up_lines(plan):
            blocks.append(
                Paragraph(text=f"The first start of an instance checks this; its log should say: {'; '.join(lines)}.")
            )
    return Section(key="latency", title="Latency and memory", blocks=tuple(blocks))


def _load(plan: Plan) -> str:
    """What an instance carries, of each kind; empty where that is not known."""
    each, other = plan.per_instance, plan.per_prefill_instance
    if each is None:
        return ""
    prefill = ""
    if other is not None:
        prefill = f", a prefill instance {requests_per_s(other.rps)} and up to {requests_per_s(other.max_rps)}"
    return (
        f"{_an_instance(plan).capitalize()} has {requests_per_s(each.rps)} at the planned load and carries up to "
        f"{requests_per_s(each.max_rps)} within the limits{prefill}."
    )


def _an_instance(plan: Plan) -> str:
    """The kind of instance whose load is meant."""
    return "an instance" if plan.per_prefill_instance is None else "a decode instance"


def _percentiles(subject: ReportSubject) -> Table:
    columns = (
        Column(label="Latency"),
        *(
            Column(label=name_of(percent), unit="ms", holds="number", detail=percent == Latency.percents()[0])
            for percent in Latency.percents()
        ),
        Column(label="Promise"),
        Column(label="80 % interval"),
    )
    origin = ORIGIN[subject.plan.decided_by]
    note = f"At the planned load, {origin}. TTFT: time to first token. ITL: gap between tokens. E2E: the whole answer."
    return Table(title=LATENCIES, columns=columns, rows=tuple(_latency_rows(subject)), note=note)


def _latency_rows(subject: ReportSubject) -> Iterator[tuple[Cell, ...]]:
    now, limits = subject.plan.latency, subject.scenario.limits
    if now is None:
        return
    for name, one, limit in (
        ("TTFT", now.ttft_ms, limits.ttft_ms),
        ("ITL", now.itl_ms, limits.itl_ms),
        ("E2E", now.e2e_ms, limits.e2e_ms),
    ):
        promised = f"{subject.at}: {ms(one.at_percentile)}, {against(one, limit)}"
        around = (
            "" if one.low is None else f"{ms(one.low)} or more" if one.high is None else _interval(one.low, one.high)
        )
        yield name, *one.percentiles, promised, around


def _interval(low: float, high: float) -> str:
    return interval(low, high, "ms")


def _curves(subject: ReportSubject) -> Iterator[Block]:
    """TTFT and ITL of an instance over its load, with the limit, the planned load and what was found there; a sentence
    in place of one that contradicts it."""
    plan, limits = subject.plan, subject.scenario.limits
    points = plan.load_curve[:: max(1, len(plan.load_curve) // CURVE_POINTS)]
    here, now = plan.per_instance, plan.latency
    if len(points) < 2 or here is None or now is None:
        return
    for name, key, limit in (("TTFT", "ttft_ms", limits.ttft_ms), ("ITL", "itl_ms", limits.itl_ms)):
        known, share = getattr(now, key).at_percentile, _of_known(plan, key)
        if share is not None and not 1.0 / FAR <= share <= FAR:
            yield Paragraph(text=_not_drawn(f"{subject.at} {name}", share))
            continue
        marks = [Mark(label=f"limit {ms(limit)}", axis="y", at=limit)] if limit is not None else []
        marks.append(Mark(label="planned load", axis="x", at=here.rps))
        if share is not None:
            marks.append(Mark(label=f"{ORIGIN[plan.decided_by]}: {ms(known)}", axis="y", at=known, near=here.rps))
        estimate = "" if share is None else ", an estimate"
        yield Chart(
            title=f"{subject.at} {name} over the load of {_an_instance(plan)}{estimate}",
            draws="line",
            x_label=f"Requests/s per {_an_instance(plan).partition(' ')[2]}",
            y_label=f"{subject.at} {name} (ms)",
            x=tuple(point.rps for point in points),
            series=(ChartSeries(name=f"{subject.at} {name}", values=tuple(getattr(point, key) for point in points)),),
            marks=tuple(marks),
            note=_by_what(share),
        )


def _of_known(plan: Plan, key: str) -> float | None:
    """The curve of the analytic load model at the planned load, in times the latency that decided the plan; None where
    that model decided, or where either is not known."""
    if plan.decided_by == "analytic" or plan.per_instance is None or plan.latency is None:
        return None
    estimate, known = on_curve(plan.load_curve, plan.per_instance.rps), getattr(plan.latency, key).at_percentile
    return None if estimate is None or not known else float(getattr(estimate, key)) / float(known)


def _by_what(share: float | None) -> str:
    """What draws the curve, and how far it is off where something else decided."""
    if share is None:
        return "By the analytic load model, as the plan."
    side = "below" if share < 1.0 else "above"
    off = f"{percent(abs(share - 1.0))} {side}" if abs(share - 1.0) >= ALIKE else "within 1 % of"
    return (
        f"An estimate by the analytic load model, to see where latency bends: at the planned load it is {off} what "
        f"decided the plan, which stands in the table {LATENCIES}."
    )


def _not_drawn(what: str, share: float) -> str:
    times = significant(max(share, 1.0 / share), 2)
    return (
        f"No curve of {what} over the load is drawn: the analytic load model, which draws it, is {times} times off at "
        f"the planned load. What decided the plan stands in the table {LATENCIES}."
    )


def _memory_chart(plan: Plan) -> Chart:
    parts, others = memory_parts(plan), prefill_memory_parts(plan)
    kinds = (parts, others) if others else (parts,)
    return Chart(
        title="Memory of one GPU at the planned load",
        draws="stacked",
        x_label="",
        y_label=f"Memory ({parts[0].unit.value})",
        x=("Decode instance", "Prefill instance") if others else ("One GPU",),
        series=tuple(
            ChartSeries(name=part.name, values=tuple(kind[place].size for kind in kinds))
            for place, part in enumerate(parts)
        ),
    )


def _memory_table(plan: Plan) -> Table:
    parts, others = memory_parts(plan), prefill_memory_parts(plan)
    unit = parts[0].unit.value
    names = ("Decode instance", "Prefill instance") if others else ("One GPU",)
    columns = (Column(label="Part"), *(Column(label=name, unit=unit, holds="number") for name in names))
    rows = [(part.name, part.size, *((others[place].size,) if others else ())) for place, part in enumerate(parts)]
    whole = plan.per_instance.memory_per_gpu_gb if plan.per_instance else 0.0
    note = f"A GPU has {memory(whole, whole)}."
    return Table(title="Memory of one GPU", columns=columns, rows=tuple(rows), note=note)
