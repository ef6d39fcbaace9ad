"""What a click changes in the form (for callbacks): presets, fixes, deployments, benchmarks and traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from sharing.form.presets import defaults, presets
from sharing.form.read import OWN_GPU
from sharing.form.trace import in_use
from sharing.form.write import changed, from_scenario, with_change
from sizing.base.deployed import Deployed
from sizing.base.result import Candidate, Fix
from sizing.explore.operating_point import OperatingPoint
from sizing.explore.pinned import pinned_to
from sizing.scenario.prices import Prices
from sizing.scenario.schema import Benchmark, Scenario
from ui.state import values
from ui.state.values import BENCHMARK, OF_DRAFTS, PRICE_BOOK, RESTRICTIONS, TRACE, keep_trace, write

if TYPE_CHECKING:
    from sizing.scenario.trace import Trace


def load_preset(preset_id: str) -> None:
    """Fill the form with a preset (for callbacks)."""
    remove_trace()
    write(from_scenario(presets()[preset_id].scenario))


def apply_fix(fix: Fix, scenario: Scenario) -> None:
    """Make the change that a warning or an exclusion proposes, with those that belong to it (for callbacks)."""
    after = scenario
    for one in (fix, *fix.also):
        after = with_change(after, one.key, one.value)
    _write_changes(scenario, after)


def use_candidate(candidate: Candidate, scenario: Scenario) -> None:
    """Consider only this deployment (for callbacks)."""
    use_deployment(candidate.deployment, scenario)


def ask_for_latency(candidate: Candidate, e2e_ms: float, scenario: Scenario) -> None:
    """Consider only this deployment, in as many instances as keep E2E below ``e2e_ms`` (for callbacks)."""
    limits = scenario.limits.model_copy(update={"e2e_ms": e2e_ms})
    _write_changes(scenario, scenario.model_copy(update={"limits": limits}))
    st.session_state["trade_step"] = 0  # what was chosen is the fewest GPUs now
    use_deployment(candidate.deployment, scenario)


def use_deployment(chosen: Deployed | OperatingPoint, scenario: Scenario) -> None:
    """Consider only the GPU, engine, formats and parallelism of ``chosen`` (for callbacks)."""
    _write_changes(scenario, pinned_to(chosen, scenario))
    if chosen.gpu != OWN_GPU:  # it stays in the form, and is not considered
        write({"gpu": [chosen.gpu]})


def use_scenario(before: Scenario, after: Scenario) -> None:
    """Ask what another scenario asks, in the fields in which it differs (for callbacks). An accelerator of one's own
    stays in the form where it is not considered."""
    own = {"custom_gpus": before.deployment.custom_gpus}
    _write_changes(before, after.model_copy(update={"deployment": after.deployment.model_copy(update=own)}))
    if OWN_GPU not in after.deployment.gpus and after.deployment.gpus:
        write({"gpu": list(after.deployment.gpus)})


def replace_in(key: str, unclear: str, reading: str) -> None:
    """Write a number that can mean one thing only in place of what was typed (for callbacks)."""
    write({key: st.session_state[key].replace(unclear, reading)})


def add_own_gpu() -> None:
    """An accelerator of one's own is considered beside the GPUs that are chosen (for callbacks)."""
    chosen = [gpu for gpu in values.value("gpu") if gpu != OWN_GPU]
    if chosen:
        write({"gpu": [*chosen, OWN_GPU] if values.value("own") else chosen})


def choose_model(model_id: str) -> None:
    """Ask for a model of the catalogue (for callbacks)."""
    write({"model_by": "catalogue", "model": model_id})


def use_benchmark(benchmark: Benchmark) -> None:
    """Size the scenario with this benchmark from now on (for callbacks)."""
    st.session_state[BENCHMARK] = benchmark.model_dump(mode="json")


def consider_only_measured() -> None:
    """Restrict the hardware to the deployment that the benchmark in use measured (for callbacks)."""
    from sizing.question.benchmark import measured_configuration

    row = measured_configuration(Benchmark.model_validate(st.session_state[BENCHMARK]))
    write(
        {
            "gpu": [row.gpu.id],
            "engine": [row.engine.id],
            "prec": [row.precision.id],
            "kv": [],
            "tp": [row.tp],
            "pp": [row.pp],
            "ep": [row.ep],
            "serving": ["aggregated"],
        }
    )


def remove_benchmark() -> None:
    """Size without the imported benchmark again (for callbacks)."""
    st.session_state.pop(BENCHMARK, None)


def use_price_book(prices: Prices) -> None:
    """Size with the lists of these prices from now on (for callbacks)."""
    lists = {name: getattr(prices, name) for name in ("listed", "negotiated")}
    st.session_state[PRICE_BOOK] = {name: one.model_dump(mode="json") for name, one in lists.items() if one.prices}


def use_trace(requests: Trace) -> None:
    """Fill the workload in from a trace (for callbacks). Raises InvalidTrace for one that is too short."""
    trace = in_use(requests)
    keep_trace(trace)
    write(dict(trace.filled))


def remove_trace() -> None:
    """Size without the trace; what it filled in stays (for callbacks)."""
    st.session_state.pop(TRACE, None)


def consider_all() -> None:
    """Consider the hardware of an untouched form again (for callbacks)."""
    write({key: defaults()[key] for key in ("gpu", *RESTRICTIONS, *OF_DRAFTS)})


def _write_changes(scenario: Scenario, after: Scenario) -> None:
    update = changed(from_scenario(scenario), from_scenario(after))
    if update.keys() & {"isl", "osl"}:
        lengths = from_scenario(after)
        update |= {"isl": lengths["isl"], "osl": lengths["osl"], "unit": "tokens", "compose": False}
    write(update)
