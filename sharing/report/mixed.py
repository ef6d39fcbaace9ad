"""One load on several fleets: which requests each takes, what serves them, and what one fleet costs."""

from collections.abc import Iterator

from sharing.report.content import Block, Bullets, Cell, Column, Fact, Facts, Paragraph, Section, Table
from sharing.report.money import amounts
from sharing.report.names import gpu_name
from sharing.report.subject import ReportSubject
from sizing.base.format import count, counted, ms, percent
from sizing.base.mixed import MixedFleet, PoolsOfTypes
from sizing.mixed.text import prompts, saves, sentence


def mixed(subject: ReportSubject) -> Section | None:
    """The chapter; None where no mix is asked."""
    fleet = subject.plan.mixed
    if fleet is None:
        return None
    blocks: list[Block] = [Paragraph(text=sentence(fleet, lambda gpu: gpu_name(gpu, subject.question)))]
    if fleet.parts:
        blocks += [Facts(facts=tuple(_facts(subject, fleet))), _table(subject, fleet)]
    if fleet.apart is not None and saves(fleet.apart):
        blocks.append(_pools(subject, fleet.apart))
    if fleet.assumptions:
        blocks.append(Bullets(items=fleet.assumptions))
    return Section(key="mixed", title="Mixed fleet", blocks=tuple(blocks))


def _pools(subject: ReportSubject, apart: PoolsOfTypes) -> Table:
    """Prefill and decode on two GPU types; latencies and cost, of both together, in the title."""
    columns = [Column(label=label) for label in ("Instances", "Layout", "GPUs", "Systems")]
    rows: list[tuple[Cell, ...]] = [
        (
            f"{count(pool.instances)} x {role}",
            pool.layout,
            f"{count(pool.gpus)} x {gpu_name(pool.gpu, subject.question)}",
            f"{count(pool.systems)} x {pool.system}",
        )
        for role, pool in (("prefill", apart.prefill), ("decode", apart.decode))
    ]
    latency = f"{subject.at} TTFT {ms(apart.ttft_ms)}, ITL {ms(apart.itl_ms)}"
    paid = ""
    if subject.shows_money and apart.usd_per_month is not None:
        paid = f"; {subject.written(apart.usd_per_month)} a month of hardware"
    title = f"Prefill and decode on two GPU types: {latency}{paid}"
    return Table(title=title, columns=tuple(columns), rows=tuple(rows))


def _facts(subject: ReportSubject, fleet: MixedFleet) -> Iterator[Fact]:
    yield Fact(label="GPUs of the mixed fleet", value=count(fleet.gpus), note=counted(fleet.systems, "system"))
    if subject.shows_money:
        yield Fact(
            label="Hardware of the mixed fleet a month",
            value=subject.written(fleet.usd_per_month),
            note=f"one fleet {subject.written(fleet.one_fleet_usd_per_month)}",
        )


def _table(subject: ReportSubject, fleet: MixedFleet) -> Table:
    money = (amounts("Hardware a month"),) if subject.shows_money else ()
    columns = (
        Column(label="Prompts"),
        Column(label="Requests"),
        Column(label="GPUs"),
        Column(label="Systems"),
        Column(label=f"{subject.at} TTFT", unit="ms", holds="number"),
        Column(label=f"{subject.at} ITL", unit="ms", holds="number"),
        *money,
    )
    rows: list[tuple[Cell, ...]] = []
    for one in fleet.parts:
        deployed, latency = one.deployment, one.latency
        paid = (None if one.usd_per_month is None else subject.money.of(one.usd_per_month),) if money else ()
        rows.append(
            (
                prompts(one.ranges) if one.ranges else "all alike",
                percent(one.share),
                f"{count(deployed.gpus)} x {gpu_name(deployed.gpu, subject.question)}",
                f"{count(deployed.systems)} x {deployed.system}",
                None if latency is None else latency.ttft_ms.at_percentile,
                None if latency is None else latency.itl_ms.at_percentile,
                *paid,
            )
        )
    return Table(title="Each fleet with the requests that it takes", columns=columns, rows=tuple(rows))
