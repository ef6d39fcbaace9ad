"""What the answer takes for granted, and who stated it: the customer, the product, or a source of the catalogue."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from sharing.form.presets import presets
from sharing.report.content import Block, Bullets, Cell, Column, Paragraph, Section, Table
from sharing.report.names import engine_name, gpu_name, kv_name, precision_name, titled
from sharing.report.subject import ReportSubject
from sizing.base.format import counted, significant, with_noun
from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.decision.keys import WHOLE, values_of
from sizing.decision.text import shown
from sizing.economics.assumptions import Basis

CUSTOMER, DEFAULT, CATALOGUE = "Customer input", "Product default", "Catalogue"
PRESET = "Preset: {title}"
"""Who stated a value that a starting point of the product brought."""

LENGTHS = ("workload.input_tokens", "workload.output_tokens")
"""Keys by whose values a preset is recognised."""
BASIS: dict[Basis, str] = {
    "scenario": CUSTOMER,
    "sourced": CATALOGUE,
    "chosen": "Chosen without a source",
    "left_out": "Left out by the customer",
    "gap": "Nobody: not known",
}

_NOT_SHOWN = (
    "name",
    "schema_version",
    "benchmark",
    "measured",
    "prices",
    "costs",
    "pipeline",
    "deployment.custom_gpus",
)
"""Keys that stand elsewhere in the report, or in no report: prices are in the chapter on cost."""

MOST_CHARACTERS = 80

NAMED: Mapping[str, Callable[[str], str]] = {
    "deployment.engines": engine_name,
    "deployment.precisions": precision_name,
    "deployment.kv_precisions": kv_name,
}
"""Keys that hold ids of the catalogue, and what these are called."""

CHOSEN = {"on_prem": "on premises", "poisson": "random (Poisson)", "kernel": "kernel tables and roofline"}
"""Choices that read better in other words."""


def assumptions(subject: ReportSubject) -> Section:
    """The chapter on assumptions and who stated them."""
    columns = (Column(label="Assumption"), Column(label="Value"), Column(label="Stated by"))
    inputs = tuple(_inputs(subject))
    given = sorted((row for row in inputs if row[-1] != DEFAULT), key=lambda row: row[-1] != CUSTOMER)
    blocks: list[Block] = [
        Table(title="What was stated", columns=columns, rows=tuple(given)),
        Table(
            title="What else applies",
            columns=columns[:2],
            rows=tuple(row[:2] for row in inputs if row[-1] == DEFAULT),
            note=f"{DEFAULT}: what the product takes where nothing else is stated.",
        ),
    ]
    if taken := subject.plan.assumptions:
        blocks += [Paragraph(text="What follows from them, and what is taken for granted:"), Bullets(items=taken)]
    return Section(key="assumptions", title="Assumptions and who stated them", blocks=tuple(blocks))


def _inputs(subject: ReportSubject) -> Iterator[tuple[Cell, ...]]:
    """Every input that has a value: whose it is follows from whether it differs from the default."""
    unused = () if subject.scenario.workload.average_rps is not None else ("workload.peak_percentile",)
    stated = _opened(subject.scenario.model_dump(mode="json", exclude_defaults=True)) | set(_typed(subject.scenario))
    values = values_of(subject.scenario)
    title, preset = _preset(values)
    for key, value in values.items():
        if not any(key == hidden or key.startswith(f"{hidden}.") for hidden in (*_NOT_SHOWN, *unused)) and value != []:
            by = DEFAULT if key not in stated else PRESET.format(title=title) if preset.get(key) == value else CUSTOMER
            yield titled(key), _short(key, value, subject), by
    if record := subject.scenario.measured:
        yield (
            "Measured record",
            f"{record.system}, {with_noun(f'{record.rps_per_system:g}', 'request/s')} per system",
            CUSTOMER,
        )
    if one := subject.scenario.benchmark:
        yield "Own benchmark", f"{counted(len(one.points), 'point')} on {gpu_name(one.gpu, subject.question)}", CUSTOMER
    for card in subject.scenario.deployment.custom_gpus:
        speed = f"{significant(card.memory_gb)} GB, {significant(card.bandwidth_gbs)} GB/s"
        yield f"Own accelerator {card.label}", f"{speed}, {significant(card.fp16_tflops)} TFLOPS in FP16", CUSTOMER


def _typed(part: BaseModel, prefix: str = "") -> Iterator[str]:
    """Dotted keys that a file names itself, whatever their values; none of a part that names all of its keys, as the
    form and the library do, who write defaults down too."""
    fields = type(part).model_fields
    for name in fields:
        value, key = getattr(part, name), f"{prefix}{name}"
        if isinstance(value, BaseModel) and key not in WHOLE:
            yield from _typed(value, f"{key}.")
        elif name in part.model_fields_set and part.model_fields_set < set(fields):
            yield key


def _preset(values: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Title and values of the preset that most of the values are those of; nothing where the lengths are of none."""
    alike = {one.title: values_of(one.scenario) for one in presets().values()}
    alike = {title: of for title, of in alike.items() if all(values.get(key) == of.get(key) for key in LENGTHS)}
    return max(
        alike.items(), key=lambda one: sum(values.get(key) == value for key, value in one[1].items()), default=("", {})
    )


def _opened(values: dict[str, Any], prefix: str = "") -> set[str]:
    """The dotted key of every value in nested ones; what stands in ``WHOLE`` is one value."""
    keys: set[str] = set()
    for name, value in values.items():
        key = f"{prefix}{name}"
        keys |= _opened(value, f"{key}.") if isinstance(value, dict) and key not in WHOLE else {key}
    return keys


def _short(key: str, value: Any, subject: ReportSubject) -> str:
    if key == "model" and isinstance(value, dict):
        value = value.get("name", "config.json")
    if key == "deployment.gpus":
        text = ", ".join(gpu_name(one, subject.question) for one in value)
    else:
        text = ", ".join(map(NAMED[key], value)) if key in NAMED else _chosen(key, value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."


def _chosen(key: str, value: Any) -> str:
    return CHOSEN[value] if isinstance(value, str) and value in CHOSEN else shown(key, value)


def sources(subject: ReportSubject) -> Section:
    """The chapter on facts of the catalogue behind the plan, each with its source and day."""
    columns = (Column(label="Fact"), Column(label="Source"), Column(label="Date"))
    table = Table(title="Facts of the catalogue", columns=columns, rows=tuple(_sources(subject)))
    return Section(key="sources", title="Appendix: sources", blocks=(table,))


def _sources(subject: ReportSubject) -> Iterator[tuple[Cell, ...]]:
    model, deployed = subject.question.model, subject.plan.deployment
    yield f"Architecture of {model.id}", model.source or CUSTOMER, model.release_date or None
    if deployed is None:
        return
    if deployed.gpu in gpus():
        gpu = gpus()[deployed.gpu]
        yield f"Datasheet of {gpu.name}", gpu.source, gpu.source_date or None
    else:
        yield f"Datasheet of {gpu_name(deployed.gpu, subject.question)}", CUSTOMER, None
    if deployed.engine in engines():
        engine = engines()[deployed.engine]
        yield f"Defaults of {engine.label}", engine.source, engine.date or None
    if subject.shows_money and subject.plan.cost is not None and subject.plan.cost.source:
        yield f"Price of {deployed.system}", subject.plan.cost.source, None
