"""Changes that are one row each: a row is planted, and all that follows from it is there without another change."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.queries.live_numbers import DIRECT, LIVE_NUMBERS, NUMBERS
from collectors.reading.observation import unknown_numbers
from collectors.vocabulary.schema import SCALARS
from commandline.percentiles import key_of, name_of, stated_by
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]

P90 = """
import json
from commandline import percentiles
percentiles.PERCENTILES[90.0] = ("plan", "simulation", "live", "benchmark")

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import distribution
from reality.labels import LABELS, STATISTICS
from sizing.base.latency_and_cost import Latency
from sizing.base.result import Plan
from sizing.methodology.glossary import fields
from sizing.planning.analytic import analytic_plan
from sizing.planning.text import as_text
from sizing.scenario.schema import Scenario

workload = {"input_tokens": 1000, "output_tokens": 200, "peak_rps": 5}
scenario = Scenario.model_validate({"model": "meta-llama/Meta-Llama-3-8B", "workload": workload})
plan = analytic_plan(scenario)
buckets = [Bucket(low=0.0, high=1.0, count=80.0), Bucket(low=1.0, high=2.0, count=20.0)]
live = distribution(buckets, rate_sum=90.0, rate_count=100.0, window_s=1.0, scale=1.0)
schema = Latency.model_json_schema(mode="serialization")
print(json.dumps({
    "plan": plan.model_dump(mode="json", by_alias=True)["latency"]["ttft_ms"],
    "read back": Plan.model_validate_json(plan.model_dump_json()) == plan,
    "text": as_text(plan),
    "schema": [list(schema["properties"]), schema["required"]],
    "glossary": [entry.name for entry in fields() if entry.result == "Latency"],
    "live": live.model_dump(),
    "compared": [list(STATISTICS), LABELS["ttft_ms.p90"]],
}))
"""


@pytest.fixture(scope="module")
def with_p90():
    """What plan and live metrics say where the table of percentiles has the 90th for all."""
    run = subprocess.run(
        [sys.executable, "-c", P90], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_a_percentile_of_a_plan_is_one_row(with_p90):
    latency = with_p90["plan"]
    assert list(latency)[:4] == ["p50", "p90", "p95", "p99"]
    assert latency["p50"] < latency["p90"] < latency["p95"]
    assert with_p90["read back"]
    assert ", p90 " in with_p90["text"]
    for listed in (*with_p90["schema"], with_p90["glossary"]):
        assert listed[:4] == ["p50", "p90", "p95", "p99"]


def test_a_percentile_of_live_metrics_is_one_row(with_p90):
    assert (with_p90["live"]["p90"], with_p90["live"]["p90_low"], with_p90["live"]["p90_high"]) == (1.5, 1.0, 2.0)
    assert with_p90["compared"] == [["mean", "p50", "p90", "p95", "p99"], "TTFT at the server, p90"]


def test_percentiles_have_one_name_each():
    every = stated_by("simulation")
    assert [key_of(percent) for percent in every] == ["p50", "p90", "p95", "p99", "p999"]
    assert [name_of(percent) for percent in every] == ["p50", "p90", "p95", "p99", "p99.9"]
    assert set(stated_by("plan")) <= set(every), "what a plan states is shown beside its simulation"
    assert set(stated_by("live")) <= set(every), "what is measured is compared with a simulation"


def test_a_live_number_is_one_row():
    assert list(NUMBERS) == list(unknown_numbers())
    assert len({row.name for row in LIVE_NUMBERS}) == len(LIVE_NUMBERS)
    for row in LIVE_NUMBERS:
        assert (row.name in DIRECT) == bool(row.concept)
        assert not row.concept or not row.in_vocabulary or row.concept in SCALARS
        assert bool(row.chart) == bool(row.label), f"{row.name}: a line of a chart has a name"
