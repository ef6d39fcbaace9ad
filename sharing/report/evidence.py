"""Why to believe it: where the figures come from, the nearest measurements, how accurate plans are, every formula."""

from collections.abc import Iterator, Mapping
from functools import cache

from sharing.report.content import Block, Cell, Column, Paragraph, Section, Table
from sharing.report.names import precision_name
from sharing.report.subject import ReportSubject
from sizing.base.format import count, counted, significant
from sizing.evidence.published import Near
from sizing.evidence.sources import SOURCES, source_day
from sizing.explore.nearest import narrowed_by, nearest_rows, own_rows
from sizing.methodology.accuracy import MODES, accuracy_figures, capacity_in_words, conclusions_in_words
from sizing.methodology.glossary import fields

NEAREST = 5
"""Measurements that are shown beside a plan."""

DOLLARS = "USD"


def evidence(subject: ReportSubject) -> Section:
    """The appendix on evidence and accuracy."""
    blocks: list[Block] = [Paragraph(text=text) for text in _origin(subject)]
    if near := _nearest(subject):
        blocks.append(near)
    if figures := accuracy_figures():
        blocks += [Paragraph(text=text) for text in (conclusions_in_words(figures), capacity_in_words(figures)[0])]
        blocks.append(_targets(figures["targets"]))
    return Section(key="evidence", title="Appendix: evidence and accuracy", blocks=tuple(blocks))


def _origin(subject: ReportSubject) -> Iterator[str]:
    plan = subject.plan
    yield f"Engine {plan.engine_version}, data {plan.data_version}. Estimates, not guarantees."
    if plan.provenance is not None:
        simulated = plan.provenance.requests
        how = f", with {counted(simulated, 'request')} of an instance simulated" if simulated else ""
        yield f"Step times from {plan.provenance.step_times.name}{how}."
    if plan.how_sure:
        yield plan.how_sure
    if plan.cross_check is not None:
        yield f"Second opinion: {plan.cross_check.message}"
    if narrowed := narrowed_by(subject.sized):
        yield narrowed


def _nearest(subject: ReportSubject) -> Table | None:
    """The scenario's own measurements, then the published ones nearest to the plan."""
    near = nearest_rows(subject.sized, 8 * NEAREST)
    published = [one for one in near if one.measurement.itl_ms or one.measurement.output_tokens_per_s][:NEAREST]
    rows = [*own_rows(subject.sized, NEAREST), *published]
    if not rows:
        return None
    columns = (
        Column(label="Configuration"),
        Column(label="Load"),
        Column(label="Mean ITL", unit="ms", holds="number"),
        Column(label="Output tokens/s per GPU", holds="number"),
        Column(label="Source"),
    )
    table = Table(
        title="Measurements nearest to this plan",
        columns=columns,
        rows=tuple(map(_measured, rows)),
        note="The nearest first, by model, hardware, lengths and load.",
    )
    return table.without_empty_columns()


def _measured(near: Near) -> tuple[Cell, ...]:
    one = near.measurement
    row, rate = one.configuration, one.output_tokens_per_s
    source = SOURCES[one.source].label if one.source in SOURCES else one.source
    name = f"{one.model.id.rpartition('/')[2]} on {one.gpus} x {row.gpu.name}"
    flight = "" if one.concurrency is None else f", {significant(one.concurrency)} in flight"
    return (
        f"{name}, {row.engine.label}, {precision_name(row.precision.id)}",
        f"{MODES[one.mode]}{flight}, {count(one.input_tokens)} in, {count(one.output_tokens)} out",
        one.itl_ms,
        None if rate is None else rate / one.gpus,
        f"{source}, {source_day(one.source_date)}",
    )


def _targets(targets: list[Mapping[str, Cell]]) -> Table:
    """How far predictions are off what was measured, by what the fit had not seen."""
    left_out = {"model": "model", "gpu": "GPU", "configuration": "configuration", "source": "source"}
    columns = (
        Column(label="Quantity"),
        Column(label="Measurements", holds="number", digits=0),
        *(Column(label=f"{name[0].upper()}{name[1:]} unseen", unit="%") for name in left_out.values()),
    )
    rows = tuple((row["quantity"], row["rows"], *(row[key] for key in left_out)) for row in targets)
    note = "Error of predictions: the median / what nine of ten stay below, each with what the fit had not seen."
    return Table(title="How far plans are off measurements", columns=columns, rows=rows, note=note)


def formulas(subject: ReportSubject) -> Section | None:
    """The chapter on every figure from formula to source; those of money in USD alone, as the engine computes them."""
    hidden = () if subject.money.code == DOLLARS else ("usd_",)
    shown = [one for one in subject.plan.explained if not one.name.startswith(hidden)]
    numbers = {source: number for number, source in enumerate(dict.fromkeys(one.source for one in shown), start=1)}
    rows = tuple(
        (_labels().get(one.name, one.name), one.value, one.formula, one.numbers, f"[{numbers[one.source]}]")
        for one in shown
    )
    columns = tuple(Column(label=label) for label in ("Figure", "Value", "Formula", "With numbers", "Source"))
    table = Table(title="Formulas with the numbers of this plan", columns=columns, rows=rows)
    listed = Table(
        title="Sources of the formulas",
        columns=(Column(label="Number"), Column(label="Source")),
        rows=tuple((f"[{number}]", source) for source, number in numbers.items()),
        note="Modules are those of this product; its methodology describes each of them.",
    )
    return (
        Section(key="formulas", title="Appendix: every figure, from formula to source", blocks=(table, listed))
        if rows
        else None
    )


@cache
def _labels() -> dict[str, str]:
    """Names of figures by those of their fields."""
    return {entry.name: entry.label for entry in reversed(fields())}
