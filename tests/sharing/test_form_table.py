"""A field of the form is said once, in fields.yaml; what a scenario says of its key, in the schema alone."""

import ast
import typing
from pathlib import Path

import pytest

from sharing.form.choices import labels
from sharing.form.fields import FIELDS, Field
from sharing.form.presets import defaults
from sharing.form.read import to_scenario
from sharing.form.typed import stated
from sharing.form.write import from_scenario
from sizing.catalog.files import read_yaml
from sizing.scenario.part import field_at, parts_in, types_in
from sizing.scenario.schema import Scenario

ROWS = read_yaml(Path(__file__).parents[2] / "sharing/form/fields.yaml")
PLAIN = [field for field in FIELDS.values() if field.plain]
WITHOUT_FIELD = (
    "schema_version",  # the form writes today's
    "benchmark",  # given as a file
    "costs",  # entered on the Cost page (ui/state/costs.py)
    "prices.listed",  # the price book, entered as a table
    "prices.negotiated",
    "deployment.kv_offload.latency_ms",  # a few milliseconds, published
    "workload.prefix_reuse",  # hits of a trace, which is given as a file
    "workload.arrivals",  # bursts and traces come from files; what the form takes are two fields
    "deployment.custom_gpus.id",  # the form has one accelerator of one's own, whose id it knows
)
BOUNDED = {
    "hours": "7",
    "draft": "7",
    "years": "7",
    "deadline": "7",
    "mixed": "3",
    "window": "7",
    "week": "6",
    "s_first": "77000",
    "lora_kept": "7",
    "lora_zipf": "2",
}
"""Numbers for fields that do not take NUMBER."""
NUMBER = "77"


def leaves(part, prefix=""):
    """The keys of a part that hold a value, those of the parts inside it among them."""
    for name, info in part.model_fields.items():
        inside = parts_in(info.annotation)
        if not inside:
            yield f"{prefix}{name}"
        for one in inside:
            yield from leaves(one, f"{prefix}{name}.")


def literals(field: Field) -> list[object]:
    found = types_in(field_at(Scenario, field.path).annotation)
    return [value for one in found if typing.get_origin(one) is typing.Literal for value in typing.get_args(one)]


def filled_in(field: Field) -> dict[str, object]:
    """The form with another value in a field than an untouched one has, and whatever that field counts with."""
    values = defaults() | {"gpu": ["h100_sxm"] if field.part == "prices" else []}
    needs = field.needs
    while needs:
        needed, _, value = needs.partition("=")
        values[needed] = True if value == "true" else value
        needs = FIELDS[needed].needs
    if field.needs:
        values |= {one.key: one.example for one in FIELDS.values() if one.needs and one.example and one.counts(values)}
    if field.part == "measured":
        values["m_sys"] = "dgx_h100"
    match field.kind:
        case "switch":
            values[field.key] = not field.default
        case "choice":
            values[field.key] = next(option for option in labels(field.key) if option != field.default)
        case "many":
            values[field.key] = [next(iter(labels(field.key)))]
        case _:
            number = BOUNDED.get(field.key, NUMBER)
            values[field.key] = number if field.kind == "number" else field.example or "Another"
    return values | {"profile": "", "cv": ""}


def test_every_key_of_a_scenario_has_one_field_or_a_reason():
    paths = [field.path for field in FIELDS.values() if field.path]
    assert len(paths) == len(set(paths))
    said = (*paths, *WITHOUT_FIELD)
    unsaid = [leaf for leaf in leaves(Scenario) if not any(f"{leaf}.".startswith(f"{path}.") for path in said)]
    assert not unsaid, "a row in sharing/form/fields.yaml, or a reason in WITHOUT_FIELD"
    assert not set(paths) & set(WITHOUT_FIELD)


@pytest.mark.parametrize("field", PLAIN, ids=lambda field: field.key)
def test_an_untouched_field_says_what_the_schema_does(field):
    info = field_at(Scenario, field.path)
    if info.is_required():
        return
    default = info.get_default(call_default_factory=True, validated_data={})
    said = stated({field.key: field.default}, field) if field.default or not field.required else None
    assert said == (field.if_empty if default == "" else default)
    assert "default" not in ROWS[field.key], "the schema has it"


@pytest.mark.parametrize("field", PLAIN, ids=lambda field: field.key)
def test_a_field_alone_is_read_and_written_from_its_row(field):
    values = filled_in(field)
    scenario = Scenario.model_validate(to_scenario(values))
    assert from_scenario(scenario)[field.key] == values[field.key] != field.default


@pytest.mark.parametrize("field", [f for f in PLAIN if literals(f)], ids=lambda field: field.key)
def test_a_choice_of_the_schema_is_offered_whole(field):
    assert set(labels(field.key)) == set(literals(field))


def test_every_field_is_drawn():
    texts = set()
    for file in (Path(__file__).parents[2] / "ui/inputs").glob("*.py"):
        texts |= {one.value for one in ast.walk(ast.parse(file.read_text())) if isinstance(one, ast.Constant)}
    assert set(FIELDS) <= texts


def test_what_a_field_needs_is_a_choice_that_exists():
    for field in FIELDS.values():
        needed, _, value = field.needs.partition("=")
        if needed:
            assert value == "true" if FIELDS[needed].kind == "switch" else value in labels(needed)
