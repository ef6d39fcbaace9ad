"""What could go wrong: warnings, how wide the estimate is, single points of failure, and what was ruled out."""

from collections.abc import Iterator

from sharing.report.answer import gpu_range
from sharing.report.content import Block, Bullets, Cell, Column, Paragraph, Section, Table
from sharing.report.names import gpu_name
from sharing.report.subject import ReportSubject
from sizing.base.choices import Severity
from sizing.base.format import interval, ms
from sizing.economics.text import left_out

SEVERITIES: dict[Severity, str] = {"error": "Error", "warning": "Warning", "info": "Note"}
WORST_FIRST = list(SEVERITIES)


def risks(subject: ReportSubject) -> Section:
    """The chapter that names what may go wrong, and what cannot serve."""
    plan = subject.plan
    blocks: list[Block] = []
    if warnings := sorted(plan.warnings, key=lambda one: WORST_FIRST.index(one.severity)):
        columns = (Column(label="Kind"), Column(label="What"), Column(label="What helps"), Column(label="Source"))
        rows = tuple(
            (SEVERITIES[one.severity], one.message, one.fix.label if one.fix else "", one.source) for one in warnings
        )
        blocks.append(Table(title="What a careful architect would point out", columns=columns, rows=rows))
    if points := tuple(_uncertain(subject)):
        blocks.append(Bullets(items=points))
    if not blocks:
        blocks.append(Paragraph(text="Nothing is known that would speak against this plan."))
    return Section(key="risks", title="Risks", blocks=tuple(blocks))


def _uncertain(subject: ReportSubject) -> Iterator[str]:
    plan = subject.plan
    if plan.gpus_low is not None:
        yield f"GPUs: {gpu_range(plan.gpus_low, plan.gpus_high)}."
    if plan.latency is not None:
        named = (("TTFT", plan.latency.ttft_ms), ("ITL", plan.latency.itl_ms), ("E2E", plan.latency.e2e_ms))
        for name, one in named:
            if one.low is not None:
                around = f"{ms(one.low)} or more" if one.high is None else interval(one.low, one.high, "ms")
                yield f"{subject.at} {name}: {around} in 8 of 10 such cases."
    yield from (sentence.text for sentence in plan.sentences if sentence.about == "redundancy")
    if subject.cost is not None and subject.cost.not_counted:
        yield f"Not in the cost, because the scenario leaves it out: {', '.join(left_out(subject.cost))}."


def excluded(subject: ReportSubject) -> Section | None:
    """The chapter on GPU types that cannot serve it; None where every one could."""
    if not subject.plan.excluded:
        return None
    alike: dict[tuple[str, str, str], list[str]] = {}
    for one in subject.plan.excluded:
        names = alike.setdefault((one.reason, one.relaxation, one.closest), [])
        names.append(gpu_name(one.gpu, subject.question))
    rows: list[tuple[Cell, ...]] = [(", ".join(names), *why) for why, names in alike.items()]
    columns = tuple(
        Column(label=label) for label in ("GPUs", "Why not", "Smallest change that lets it in", "Nearest configuration")
    )
    table = Table(title="GPU types that were ruled out", columns=columns, rows=tuple(rows))
    return Section(key="excluded", title="Appendix: what cannot serve this", blocks=(table,))
