"""Scenarios, plans and reports that the tests of reports share; each is planned once."""

import re
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sharing.formats.brand import Brand
from sharing.formats.source import ReportSource, source_of
from sharing.report.content import Released, Report
from sizing import Plan, Scenario, plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand

MADE_AT = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
LIMITS = {"ttft_ms": 2000, "itl_ms": 60}
CASES: dict[str, dict[str, Any]] = {
    "chat": {
        "name": "Support chat",
        "model": "meta-llama/Meta-Llama-3-8B",
        "workload": {"input_tokens": 1200, "output_tokens": 200, "users": {"daily_users": 20_000}},
        "limits": LIMITS,
        "deployment": {"gpus": ["h100_sxm", "l40s"]},
    },
    "own prices": {
        "name": "With a quote",
        "model": "meta-llama/Meta-Llama-3-8B",
        "workload": {"input_tokens": 1200, "output_tokens": 200, "peak_rps": 6},
        "limits": LIMITS,
        "deployment": {"gpus": ["h100_sxm"]},
        "prices": {"system": "dgx_h100", "system_usd": 123_457},
        "costs": {"staff_usd_per_month": 7_771, "reserved_1y_discount_percent": 41.17},
    },
    "measured": {
        "name": "Measured",
        "model": {"name": "NeMo 43B GPT", "params_b": 43},
        "workload": {"input_tokens": 1500, "output_tokens": 500, "peak_rps": 31},
        "limits": {"ttft_ms": 3000},
        "measured": {"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 2606, "itl_ms": 21.4},
    },
    "impossible": {
        "name": "Impossible",
        "model": "meta-llama/Meta-Llama-3-8B",
        "workload": {"input_tokens": 2000, "output_tokens": 200, "peak_rps": 5},
        "limits": {"ttft_ms": 1},
        "deployment": {"gpus": ["h100_sxm"]},
    },
    "pools": {
        "name": "Apart",
        "model": "meta-llama/Meta-Llama-3-8B",
        "workload": {"input_tokens": 3000, "output_tokens": 200, "peak_rps": 20},
        "limits": LIMITS,
        "deployment": {"gpus": ["h100_sxm"], "serving": ["disaggregated"]},
    },
}

OWN_PRICE = re.compile(r"(?<![\d.])(?:123[,.]?457|7[,.]?771|7\.77|41\.[12])")
"""A number that begins like a price of "own prices"; in the decimals of another its digits stand by chance."""


@cache
def scenario(name: str) -> Scenario:
    return Scenario.model_validate(CASES[name])


@cache
def planned(name: str) -> Plan:
    return plan(scenario(name))


def answered(name: str) -> Answer:
    return Answer(understand(scenario(name)), planned(name))


@cache
def report(name: str, released: Released = Released.LIST_PRICES) -> Report:
    return source(name, released).report


@cache
def source(name: str, released: Released = Released.LIST_PRICES) -> ReportSource:
    return source_of(
        answered(name),
        released=released,
        made_at=MADE_AT,
        author="Ada",
        customer="Acme",
        brand=Brand(name="Example Systems"),
    )
