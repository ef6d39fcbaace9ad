"""From a scenario back to what the form holds: for presets, one-click fixes and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sharing.form.fields import FIELDS
from sharing.form.numbers import over, show_number
from sharing.form.read import OWN_GPU
from sizing.base.units import DAYS_PER_MONTH
from sizing.scenario.model_asked import ModelConfig, ModelSize
from sizing.scenario.schema import RATES, Layout, Scenario
from sizing.scenario.traffic import Gamma, Length, LengthSpread, LengthTrace, Profile

_FIXED: dict[str, Any] = {
    "model_by": "catalogue",
    "unit": "tokens",
    "lang": "English",
    "load": "rps",
    "avg_pct": "95",
    "per_user": "3",
    "hours": "8",
    "p2m": "2",
    "per_doc": "1",
    "window": "24",
    "week": "7",
    "docs": "5",
    "turns": "0",
    "system": "300",
    "doc": "600",
    "question": "50",
    "growth": "0",
    "cached": "0",
    "spare": "0",
    "draft": "3",
    "draft_cost": "5",
}
"""What a field holds when the scenario does not use it: good starting points rather than blanks."""

_PLAIN = (
    "name",
    "ttft",
    "itl",
    "e2e",
    "pct",
    "mode",
    "engine",
    "prec",
    "accurate",
    "kv",
    "tp",
    "pp",
    "ep",
    "dp",
    "serving",
    "where",
    "proven",
    "confidence",
    "util",
    "mem",
    "spare",
    "obj",
    "steps",
    "route",
    "drafts",
    "growth",
    "usd_of",
    "usd_system",
    "usd_gpu",
    "usd_hour",
    "years",
)
"""Fields that hold exactly the value of their scenario key."""


def from_scenario(scenario: Scenario) -> dict[str, Any]:
    """The value of every field of the form for ``scenario``, lengths in tokens."""
    values: dict[str, Any] = {key: _FIXED.get(key, field.blank) for key, field in FIELDS.items()}
    dumped = scenario.model_dump()
    values |= {key: _shown(key, _at(dumped, FIELDS[key].path)) for key in _PLAIN}
    values |= {key: _degrees(getattr(scenario.deployment, FIELDS[key].leaf)) for key in ("pre", "dec")}
    values["batch"] = ", ".join(map(str, scenario.deployment.batch_limits))
    return (
        values
        | _model(scenario)
        | _workload(scenario)
        | _own_gpu(scenario)
        | _measured(scenario)
        | _speculation(scenario)
    )


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that differ, with their new value."""
    return {key: value for key, value in after.items() if before[key] != value}


def with_change(scenario: Scenario, path: str, value: Any) -> Scenario:
    """``scenario`` with one key set. A rate replaces the other ways to say the load. Raises ValidationError."""
    data = scenario.model_dump()
    *parents, last = path.split(".")
    part = data
    for name in parents:
        part = part[name]
    part[last] = value
    if path.startswith("workload.") and last in RATES:
        data["workload"] |= {rate: None for rate in RATES if rate != last}
    return Scenario.model_validate(data)


def _model(scenario: Scenario) -> dict[str, Any]:
    model = scenario.model
    if isinstance(model, ModelSize):
        return {"model_by": "size", "size_name": model.name, "size_b": show_number(model.params_b)}
    if isinstance(model, ModelConfig):
        return {"model_by": "config"}
    return {"model_by": "catalogue", "model": model}


def _workload(scenario: Scenario) -> dict[str, Any]:
    work = scenario.workload
    values = _length("isl", work.input_tokens) | _length("osl", work.output_tokens)
    if work.average_rps is not None:
        values |= {
            "load": "average",
            "avg": show_number(work.average_rps),
            "avg_pct": show_number(work.peak_percentile),
        }
    elif work.users is not None:
        values |= {"load": "users"} | {
            key: show_number(getattr(work.users, FIELDS[key].leaf)) for key in ("users", "per_user", "hours", "p2m")
        }
    elif work.batch is not None:
        keys = ("docs_month", "per_doc", "window", "week")
        values |= {"load": "batch"} | {key: show_number(getattr(work.batch, FIELDS[key].leaf)) for key in keys}
        if work.batch.deadline_days != DAYS_PER_MONTH:
            values["deadline"] = show_number(work.batch.deadline_days)
    else:
        values |= {"rps": show_number(work.peak_rps)}
    if isinstance(work.arrivals, Gamma):
        values["cv"] = show_number(work.arrivals.gamma.cv)
    if isinstance(work.arrivals, Profile):
        values["profile"] = " ".join(show_number(hour) for hour in work.arrivals.profile)
    return values | {"cached": show_number(work.prefix_cached_tokens)}


def _length(key: str, length: Length) -> dict[str, str]:
    if isinstance(length, LengthSpread | LengthTrace):
        return {key: show_number(length.p50), f"{key}95": show_number(length.p95)}
    return {key: show_number(length)}


def _own_gpu(scenario: Scenario) -> dict[str, Any]:
    values: dict[str, Any] = {"gpu": list(scenario.deployment.gpus)}
    for gpu in scenario.deployment.custom_gpus[:1]:
        numbers = [key for key in FIELDS if key.startswith("own_") and FIELDS[key].path]
        values |= {key: show_number(getattr(gpu, FIELDS[key].leaf)) for key in numbers}
        values |= {"own": True, "own_name": gpu.name or gpu.id}
        named = [chosen for chosen in scenario.deployment.gpus if chosen != gpu.id]
        values["gpu"] = [*named, OWN_GPU] if scenario.deployment.gpus else []
    return values


def _measured(scenario: Scenario) -> dict[str, Any]:
    record = scenario.measured
    if record is None:
        return {}
    numbers = {key: show_number(getattr(record, FIELDS[key].leaf)) for key in ("m_rps", "m_ttft", "m_itl")}
    return {"meas": True, "m_sys": record.system, "m_source": record.source, **numbers}


def _degrees(layout: Layout | None) -> str:
    """A layout as it is typed: "TP4 PP2"."""
    if layout is None:
        return ""
    return " ".join(f"{name.upper()}{n}" for name, n in layout.model_dump().items() if n > 1 or name == "tp")


def _speculation(scenario: Scenario) -> dict[str, Any]:
    speculation = scenario.deployment.speculative_decoding
    if speculation is None:
        return {}
    return {"spec": True} | {
        key: _shown(key, getattr(speculation, FIELDS[key].leaf)) for key in ("draft", "accept", "draft_cost")
    }


def _at(data: Any, path: str) -> Any:
    for name in path.split("."):
        data = data[name]
    return data


def _shown(key: str, value: Any) -> Any:
    field = FIELDS[key]
    if field.kind == "number":
        return show_number(None if value is None else over(value, field.scale))
    return field.blank if value is None else value
