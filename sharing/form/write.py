"""Turns a scenario back into what the form holds: for presets, one-click fixes and files."""

from collections.abc import Mapping
from typing import Any

from sharing.form.fields import FIELDS
from sharing.form.numbers import show_number
from sharing.form.read import OWN_GPU
from sizing.scenario.model_asked import ModelConfig, ModelSize
from sizing.scenario.schema import RATES, Scenario, Workload
from sizing.scenario.traffic import Gamma, Length, LengthSpread, LengthTrace, Profile


def from_scenario(scenario: Scenario) -> dict[str, Any]:
    """The value of every field of the form for ``scenario``, lengths in tokens."""
    values = {key: field.default for key, field in FIELDS.items()} | _ways_to_say_it(scenario)
    dumped = scenario.model_dump()
    plain = (field for field in FIELDS.values() if field.plain and field.counts(values))
    values |= {field.key: field.shown(_at(dumped, field.path)) for field in plain}
    return values | _model(scenario) | _workload(scenario) | _own_gpu(scenario)


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


def _ways_to_say_it(scenario: Scenario) -> dict[str, Any]:
    """The fields that other fields need, which say how the scenario says it: of a model, of the load, what it has."""
    model, work, deployment = scenario.model, scenario.workload, scenario.deployment
    return {
        "model_by": {str: "catalogue", ModelSize: "size", ModelConfig: "config"}[type(model)],
        "load": _load(work),
        "s_by": "per_hour" if work.sessions is not None and work.sessions.sessions_per_hour else "at_once",
        "own": bool(deployment.custom_gpus),
        "spec": deployment.speculative_decoding is not None,
        "lora": scenario.adapters is not None,
        "offload": deployment.kv_offload is not None,
        "meas": scenario.measured is not None,
    }


def _load(work: Workload) -> str:
    if work.sessions is not None:
        return "sessions"
    if work.average_rps is not None:
        return "average"
    return "users" if work.users is not None else "batch" if work.batch is not None else "rps"


def _model(scenario: Scenario) -> dict[str, Any]:
    return {"model": scenario.model} if isinstance(scenario.model, str) else {}


def _workload(scenario: Scenario) -> dict[str, Any]:
    work = scenario.workload
    values = _length("isl", work.input_tokens) | _length("osl", work.output_tokens)
    if work.sessions is not None:  # what one would type who stated the requests alone
        values["isl95"] = ""
    if isinstance(work.arrivals, Gamma):
        values["cv"] = show_number(work.arrivals.gamma.cv)
    if isinstance(work.arrivals, Profile):
        values["profile"] = " ".join(show_number(hour) for hour in work.arrivals.profile)
    if work.images is not None:
        values |= {"pics": show_number(work.images.per_request)}
        values |= {"pics_w": show_number(work.images.width), "pics_h": show_number(work.images.height)}
    return values | {"cached": show_number(work.prefix_cached_tokens)}


def _length(key: str, length: Length) -> dict[str, str]:
    if isinstance(length, LengthSpread | LengthTrace):
        return {key: show_number(length.p50), f"{key}95": show_number(length.p95)}
    return {key: show_number(length)}


def _own_gpu(scenario: Scenario) -> dict[str, Any]:
    """The GPUs considered, the accelerator of one's own among them by the id that it has in the form."""
    values: dict[str, Any] = {"gpu": list(scenario.deployment.gpus)}
    for gpu in scenario.deployment.custom_gpus[:1]:
        values |= {"own_name": gpu.label}
        named = [chosen for chosen in scenario.deployment.gpus if chosen != gpu.id]
        values["gpu"] = [*named, OWN_GPU] if scenario.deployment.gpus else []
    return values


def _at(data: Any, path: str) -> Any:
    """A value by its path; of a list of parts, that of the first."""
    for name in path.split("."):
        data = data[0][name] if isinstance(data, list) else data[name]
    return data
