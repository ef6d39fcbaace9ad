"""Other deployments that meet the limits, beside the planned one."""

from collections.abc import Sequence

from sharing.report.answer import gpu_span, layout
from sharing.report.content import Block, Cell, Chart, ChartSeries, Column, Paragraph, Section, Table
from sharing.report.money import amounts
from sharing.report.names import ORIGIN, engine_name, gpu_name, precision_name
from sharing.report.subject import ReportSubject
from sizing.base.deployed import Deployed
from sizing.base.format import count
from sizing.base.result import Candidate
from sizing.planning.left_out import other_bases
from sizing.planning.text import and_drafts, why_no_alternatives

LISTED = 12
"""Alternatives that the table holds."""
DRAWN = 8
"""Deployments that the chart holds."""


def alternatives(subject: ReportSubject) -> Section | None:
    """The chapter; None where nothing is deployed."""
    plan = subject.plan
    if plan.deployment is None:
        return None
    others = ranked(plan.alternatives)[:LISTED]
    if not others:
        only = Paragraph(text=why_no_alternatives(plan))
        return Section(key="alternatives", title="Alternatives", blocks=(only,))
    blocks: list[Block] = [_table(subject, others)]
    if chart := _chart(subject):
        blocks.insert(0, chart)
    return Section(key="alternatives", title="Alternatives", blocks=tuple(blocks))


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Alternatives in the order of the plan, what has no price last."""
    return sorted(candidates, key=lambda one: one.hardware_usd_per_month is None)


def _table(subject: ReportSubject, others: Sequence[Candidate]) -> Table:
    money = (amounts("Hardware a month"),) if subject.shows_money else ()
    columns = (
        Column(label="Deployment"),
        Column(label="One instance"),
        Column(label="GPUs", holds="number", digits=0),
        Column(label="GPUs, 80 % interval"),
        Column(label="Systems", holds="number", digits=0, detail=True),
        *(
            Column(label=f"{subject.at} {name}", unit="ms", holds="number", detail=name == "E2E")
            for name in ("TTFT", "ITL", "E2E")
        ),
        *money,
        Column(label="Power", unit="kW", holds="number", detail=True),
        Column(label="Figures", detail=True),
    )
    rows = [_planned(subject), *(_row(subject, one) for one in others)]
    others_there_are = len(subject.plan.alternatives)
    note = "" if others_there_are <= LISTED else f"{count(others_there_are)} others do; the best {LISTED} are listed."
    estimates = "What was not simulated is estimated by the analytic load model."
    return Table(
        title="The plan and other deployments that meet the limits, best first",
        columns=columns,
        rows=tuple(rows),
        note=" ".join(filter(None, [note, estimates, _bases(subject, others)])),
    )


def _bases(subject: ReportSubject, others: Sequence[Candidate]) -> str:
    """Which prices of the table are no prices that sellers ask; nothing where no money is shown."""
    planned = subject.plan.deployment
    if not subject.shows_money or planned is None:
        return ""
    return other_bases([planned, *(one.deployment for one in others)], subject.question)


def _named(deployed: Deployed, subject: ReportSubject) -> str:
    parts = (
        gpu_name(deployed.gpu, subject.question),
        precision_name(deployed.weight_precision),
        engine_name(deployed.engine),
    )
    return ", ".join(parts)


def _what(deployed: Deployed, subject: ReportSubject, low: int | None, high: int | None) -> tuple[Cell, ...]:
    return (
        _named(deployed, subject),
        layout(deployed) + and_drafts(deployed),
        deployed.gpus,
        gpu_span(low, high),
        deployed.systems,
    )


def _planned(subject: ReportSubject) -> tuple[Cell, ...]:
    plan = subject.plan
    assert plan.deployment is not None
    name, *rest = _what(plan.deployment, subject, plan.gpus_low, plan.gpus_high)
    now = plan.latency
    latencies = (now.ttft_ms.at_percentile, now.itl_ms.at_percentile, now.e2e_ms.at_percentile) if now else (None,) * 3
    usd, power = (plan.cost.hardware_usd_per_month, plan.cost.power_kw) if plan.cost else (None, None)
    return f"Plan: {name}", *rest, *latencies, *_amount(subject, usd), power, ORIGIN[plan.decided_by]


def _row(subject: ReportSubject, one: Candidate) -> tuple[Cell, ...]:
    latencies = (one.ttft_ms, one.itl_ms, one.e2e_ms)
    money = _amount(subject, one.hardware_usd_per_month)
    what = _what(one.deployment, subject, one.gpus_low, one.gpus_high)
    return *what, *latencies, *money, one.power_kw, ORIGIN[one.decided_by]


def _amount(subject: ReportSubject, usd: float | None) -> tuple[Cell, ...]:
    if not subject.shows_money:
        return ()
    return (None if usd is None else subject.money.of(usd),)


def _chart(subject: ReportSubject) -> Chart | None:
    """The best deployment of each GPU type: what it costs, or how many GPUs it takes where no money is shown."""
    plan = subject.plan
    assert plan.deployment is not None
    best = {plan.deployment.gpu: (plan.deployment, plan.cost.hardware_usd_per_month if plan.cost else None)}
    for one in ranked(plan.alternatives):
        best.setdefault(one.deployment.gpu, (one.deployment, one.hardware_usd_per_month))
    shown = list(best.values())[:DRAWN]
    if len(shown) < 2:
        return None
    prices = [usd for _, usd in shown if usd is not None]
    money = len(prices) == len(shown)
    values = tuple(map(subject.money.of, prices)) if money else tuple(float(one.gpus) for one, _ in shown)
    label = f"{subject.money.code} a month" if money else "GPUs"
    return Chart(
        title=f"Best of each GPU type: {'hardware a month' if money else 'GPUs'}",
        draws="bar",
        x_label="",
        y_label=label,
        x=tuple(_place(one, subject, number) for number, (one, _) in enumerate(shown)),
        series=(ChartSeries(name=label, values=values),),
    )


def _place(deployed: Deployed, subject: ReportSubject, number: int) -> str:
    what = gpu_name(deployed.gpu, subject.question), precision_name(deployed.weight_precision)
    name = f"{count(deployed.gpus)} x {', '.join(what)}"
    return f"Plan: {name}" if number == 0 else name
