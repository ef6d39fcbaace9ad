"""The published measurements nearest to a planned deployment, for Benchmarks and for the reasons on Size."""

from __future__ import annotations

import pandas as pd

from sizing.base.deployed import Deployed
from sizing.base.format import count, rounded
from sizing.base.result import Plan
from sizing.catalog import gpus
from sizing.evidence.cases import NEAR_WORDS
from sizing.evidence.published import Measurement, Near, measurements_alike, nearest
from sizing.evidence.sources import SOURCES, source_day, source_url
from sizing.explore.own_benchmark import own_measurements
from sizing.methodology.accuracy import MODES
from sizing.planning.spread import interval_of
from sizing.question.configuration import Configuration, deployed_configuration
from sizing.question.understand import understand
from sizing.scenario.schema import Scenario
from ui.form.choices import label
from ui.format import known


def nearest_rows(scenario: Scenario, plan: Plan, number: int) -> tuple[Near, ...]:
    """Measurements nearest to the deployment of a plan at its lengths and load; none without a deployment, or for an
    accelerator outside the catalogue."""
    if plan.deployment is None or plan.per_instance is None or plan.deployment.gpu not in gpus():
        return ()
    question, row = understand(scenario), deployed_configuration(plan.deployment, gpus()[plan.deployment.gpu])
    return nearest(
        question.model,
        row,
        concurrency=max(plan.per_instance.concurrency, 1.0),
        count=number,
        input_tokens=question.traffic.input_tokens,
        output_tokens=question.traffic.output_tokens,
    )


def narrowed_by(scenario: Scenario, plan: Plan) -> str:
    """Which published rows make the intervals of a plan narrower than those of an unmeasured deployment, in a sentence;
    empty where none do."""
    if plan.deployment is None or plan.deployment.gpu not in gpus():
        return ""
    question, row = understand(scenario), deployed_configuration(plan.deployment, gpus()[plan.deployment.gpu])
    near = interval_of(question, "decode", row).near
    if near == "none":
        return ""
    rows = measurements_alike(question.model, row)
    sources = dict.fromkeys(SOURCES[m.source].label if m.source in SOURCES else m.source for m in rows)
    what = f"{count(len(rows))} published measurements of {NEAR_WORDS[near]}"
    return f"The 80 % interval is narrower for {what} ({', '.join(sources)})."


def own_rows(scenario: Scenario, plan: Plan, number: int) -> tuple[Near, ...]:
    """The points of the scenario's own benchmark nearest to the load of a plan; none where the plan is of another
    deployment than it measured."""
    one, deployed = plan.per_instance, plan.deployment
    if scenario.benchmark is None or one is None or deployed is None:
        return ()
    near = own_measurements(understand(scenario), max(one.concurrency, 1.0))
    return tuple(n for n in near[:number] if _is(deployed, n.measurement.configuration))


def _is(deployed: Deployed, row: Configuration) -> bool:
    """Whether a configuration is the deployment of a plan, whatever its KV-cache format."""
    planned = (
        deployed.gpu,
        deployed.engine,
        deployed.weight_precision,
        deployed.tp,
        deployed.pp,
        deployed.ep,
        deployed.dp,
    )
    return planned == (row.gpu.id, row.engine.id, row.precision.id, row.tp, row.pp, row.ep, row.dp)


NEAREST_NUMBERS = (
    "Concurrency",
    "Input tokens",
    "Output tokens",
    "Mean ITL (ms)",
    "Mean TTFT (ms)",
    "Output tokens/s per GPU",
)
"""Columns of :func:`nearest_table` that hold numbers to be printed with separators."""


def nearest_table(measurements: tuple[Near, ...]) -> pd.DataFrame:
    """Measured rows with what sets them apart, their values and their source; nearest first."""
    return pd.DataFrame([_row(near.measurement, near.distance) for near in measurements])


def _row(measured: Measurement, distance: float) -> dict[str, object]:
    row, source = measured.configuration, SOURCES.get(measured.source)
    rate = measured.output_tokens_per_s
    return {
        "Model": measured.model.id.rpartition("/")[2],
        "GPU": f"{measured.gpus} x {row.gpu.name}",
        "Mean ITL (ms)": known(measured.itl_ms),
        "Output tokens/s per GPU": known(None if rate is None else rate / measured.gpus),
        "Source": source.label if source else measured.source,
        "Link": source_url(measured.source_link),
        "Precision": label("prec", row.precision.id),
        "Concurrency": measured.concurrency,
        "Mode": MODES[measured.mode],
        "Engine": row.engine.label,
        "Input tokens": known(measured.input_tokens),
        "Output tokens": known(measured.output_tokens),
        "Mean TTFT (ms)": known(measured.ttft_ms),
        "Distance": rounded(distance, 2),
        "Date": source_day(measured.source_date),
    }
