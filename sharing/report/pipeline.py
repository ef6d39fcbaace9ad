"""The stages beside the language model: what each runs on and takes, and the whole with the language model."""

from collections.abc import Iterator

from sharing.report.content import Bullets, Cell, Column, Fact, Facts, Section, Table
from sharing.report.money import amounts
from sharing.report.names import gpu_name
from sharing.report.subject import ReportSubject
from sizing.base.format import count, interval, kilowatts, ms
from sizing.base.pipeline import Pipeline
from sizing.pipelines.text import bought


def pipeline(subject: ReportSubject) -> Section | None:
    """The chapter; None where no stage is asked."""
    stages = subject.plan.pipeline
    if stages is None:
        return None
    sure = dict.fromkeys(one.how_sure for one in stages.stages)
    named = (bought(one, lambda gpu: gpu_name(gpu, subject.question)) for one in stages.systems)
    points = (*stages.notes, *(f"{one}." for one in named), *sure, *stages.assumptions)
    blocks = (Facts(facts=tuple(_facts(subject, stages))), _table(subject, stages), Bullets(items=points))
    return Section(key="pipeline", title="Stages beside the language model", blocks=blocks)


def _facts(subject: ReportSubject, stages: Pipeline) -> Iterator[Fact]:
    yield Fact(label="GPUs of the stages", value=count(stages.gpus))
    yield Fact(label="Stages", value=ms(stages.latency_ms), note="mean, one after another")
    if stages.ttft_ms is not None:
        yield Fact(label="TTFT of the whole", value=ms(stages.ttft_ms), note="stages + median of the language model")
    if stages.e2e_ms is not None:
        yield Fact(label="E2E of the whole", value=ms(stages.e2e_ms), note="stages + median of the language model")
    if stages.power_kw_whole is not None and stages.power_kw is not None:
        note = f"stages {kilowatts(stages.power_kw)}"
        yield Fact(label="Power of the whole", value=kilowatts(stages.power_kw_whole), note=note)
    if subject.shows_money:
        yield Fact(
            label="Hardware of the whole a month",
            value=subject.written(stages.usd_per_month_whole),
            note=f"stages {subject.written(stages.usd_per_month)}",
        )


def _table(subject: ReportSubject, stages: Pipeline) -> Table:
    money = (amounts("Hardware a month"),) if subject.shows_money else ()
    columns = (
        Column(label="Stage"),
        Column(label="Model"),
        Column(label="Items/s", holds="number"),
        Column(label="Items/s per GPU", holds="number"),
        Column(label="80 % interval", detail=True),
        Column(label="GPUs"),
        Column(label="Wait", unit="ms", holds="number", detail=True),
        Column(label="Latency", unit="ms", holds="number"),
        *money,
        Column(label="Rests on"),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in stages.stages:
        measured = one.basis == "measured"
        paid = (None if one.usd_per_month is None else subject.money.of(one.usd_per_month),) if money else ()
        rows.append(
            (
                one.stage,
                one.model,
                one.items_per_s,
                one.rate.value,
                "" if measured else interval(one.rate.low, one.rate.high),
                f"{count(one.gpus)} x {gpu_name(one.gpu, subject.question)}",
                one.wait_ms,
                one.latency_ms,
                *paid,
                "own record" if measured else "estimate, not validated",
            )
        )
    return Table(title="Stages in the order of a request", columns=columns, rows=tuple(rows))
