"""The form without Streamlit: numbers as people type them, and the way to a scenario and back."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharing.form.fields import FIELDS
from sharing.form.numbers import AmbiguousNumber, NotANumber, parse_number, show_number
from sharing.form.presets import presets
from sharing.form.read import to_scenario
from sharing.form.write import from_scenario
from sizing.catalog import use_cases
from sizing.scenario import Scenario
from sizing.scenario.adapters import AdaptersAsked, Images
from sizing.scenario.schema import Batch, KvOffload
from sizing.scenario.sessions import Sessions


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("3500", "", 3500),
        ("3,500", "", 3500),
        (" 3 500 ", "", 3500),
        ("3 500 000 ms", "ms", 3500000),
        ("3.5k", "", 3500),
        ("1e6", "", 1e6),
        ("1,234,567.5", "", 1234567.5),
        ("0.125", "", 0.125),
        ("2.4000", "", 2.4),
        ("3'500", "", 3500),
        (".5", "", 0.5),
        ("-5", "", -5),
        ("3 s", "ms", 3000),
        ("480 ms", "ms", 480),
        ("80 %", "%", 80),
        ("43B", "billions", 43),
        ("2M", "", 2e6),
        ("12 tokens", "tokens", 12),
    ],
)
def test_number_is_read_as_typed(text: str, unit: str, value: float) -> None:
    assert parse_number(text, unit=unit) == pytest.approx(value)


@pytest.mark.parametrize(
    "text", ["", "abc", "nan", "inf", "1e999", "--1", "1.2.3", "12 parsecs", "1,2,3", "3 s", "٣x", "32 64", "1 00"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(NotANumber):
        parse_number(text)


@pytest.mark.parametrize(
    ("text", "unit", "readings"),
    [
        ("3.000", "", ("3,000", "3.0")),
        ("2.500 ms", "ms", ("2,500ms", "2.50ms")),
        ("12.345", "", ("12,345", "12.3450")),
        ("2,5", "", ("2.5",)),
        ("2,5 s", "ms", ("2.5s",)),
        ("0,125", "", ("0.125",)),
        ("3.000,5", "", ("3,000.5",)),
        ("1.000.000", "", ("1,000,000",)),
        ("-2,4k", "", ("-2.4k",)),
    ],
)
def test_a_number_that_may_mean_another_is_asked_about(text: str, unit: str, readings: tuple[str, ...]) -> None:
    with pytest.raises(AmbiguousNumber) as asked:
        parse_number(text, unit=unit)
    assert asked.value.readings == readings
    for reading in readings:
        parse_number(reading, unit=unit)


def test_a_number_is_shown_so_that_it_can_mean_one_thing_only() -> None:
    assert show_number(12.345) == "12.3450"
    assert show_number(0.125) == "0.125"
    assert parse_number(show_number(-1.125)) == -1.125


@given(st.text(max_size=20))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    with contextlib.suppress(NotANumber):
        parse_number(text)


@given(st.floats(min_value=0, max_value=1e12).map(lambda x: float(f"{x:.9g}")))
def test_shown_number_reads_back(value: float) -> None:
    assert parse_number(show_number(value)) == pytest.approx(value)


SCENARIOS = [
    {
        "model": {"name": "Mine", "params_b": 7},
        "workload": {
            "input_tokens": {"p50": 100, "p95": 900},
            "output_tokens": 10.5,
            "average_rps": 7,
            "peak_percentile": 90,
            "growth_percent": 20,
            "mode": "sequential",
            "arrivals": {"gamma": {"cv": 2}},
        },
        "limits": {"ttft_ms": None, "itl_ms": None, "e2e_ms": 9000, "percentile": 99.9},
    },
    {
        "model": "a/b",
        "workload": {"input_tokens": 5, "output_tokens": 5, "users": {"daily_users": 1e6, "hours": 24}},
        "deployment": {
            "gpus": ["own_accelerator"],
            "engines": ["vllm"],
            "custom_gpus": [
                {
                    "id": "own_accelerator",
                    "name": "Own",
                    "memory_gb": 100,
                    "bandwidth_gbs": 2000,
                    "fp16_tflops": 500,
                    "link_gbs": 900,
                    "price_usd": 9.5,
                }
            ],
            "tp": [2, 4],
            "pp": [1],
            "ep": [8],
            "dp": [8],
            "kv_precisions": ["fp8"],
            "location": "cloud",
            "spare_instances": 2,
            "max_utilization": 0.85,
            "confidence": 95,
            "objective": "energy",
            "step_times": "kernel",
            "routing": "least_loaded",
            "speculative_decoding": {"draft_tokens": 4, "acceptance": 0.7, "draft_cost": 0.02},
        },
        "prices": {
            "system": "dgx_h100",
            "system_usd": 1000,
            "gpu": "h200_sxm",
            "gpu_hour_usd": 2.5,
            "depreciation_years": 3,
        },
    },
]


ROUND_TRIPS = [*(p.scenario for p in presets().values()), *map(Scenario.model_validate, SCENARIOS)]


@pytest.mark.parametrize("scenario", ROUND_TRIPS)
def test_scenario_survives_the_form(scenario: Scenario) -> None:
    assert Scenario.model_validate(to_scenario(from_scenario(scenario))) == scenario


def test_every_path_of_a_field_is_a_key_of_the_scenario() -> None:
    full = Scenario.model_validate(SCENARIOS[1]).model_dump() | {
        "measured": dict.fromkeys(("system", "rps_per_system", "ttft_ms", "itl_ms", "source"))
    }
    full["deployment"]["custom_gpus"] = full["deployment"]["custom_gpus"][0]
    full["workload"] |= {name: {"p95": 1} for name in ("input_tokens", "output_tokens")}
    full["workload"]["arrivals"] = {"gamma": {"cv": 1}, "profile": []}
    full["workload"]["batch"] = Batch(documents_per_month=1).model_dump()
    full["workload"]["images"] = Images(per_request=1).model_dump()
    full["workload"]["sessions"] = Sessions(
        turns=2, first_prompt_tokens=1000, answer_tokens=9, sessions_at_once=1
    ).model_dump()
    full["deployment"]["kv_offload"] = KvOffload(tier="host_memory", gib_per_gpu=1).model_dump()
    full["adapters"] = AdaptersAsked(number=1).model_dump()
    full["model"] = {"name": "", "params_b": 1}
    for field in FIELDS.values():
        part = full
        for name in field.path.split(".") if field.path else ():
            assert name in part, field.path
            part = part[name]


def test_every_field_has_help_and_numbers_an_example() -> None:
    assert all(f.help for f in FIELDS.values())
    assert all(f.example for f in FIELDS.values() if f.kind == "number")


def test_presets_name_rows_of_the_use_case_data() -> None:
    rows = {row.use_case for row in use_cases()}
    for preset in presets().values():
        assert {preset.lengths_from, preset.limits_from} - {""} <= rows
        assert preset.evidence
