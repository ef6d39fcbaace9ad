"""How long a report takes, from a scenario with its plan to the file, in every format."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from bench.table import Row
from bench.yardstick import Times, in_yardsticks
from sharing.form.presets import presets
from sharing.formats import FORMATS
from sharing.formats.brand import Brand
from sharing.formats.source import ReportSource, source_of
from sharing.report.content import Released
from sizing import Scenario
from sizing.planning.answered import Answer

NAME = "Reports: from a plan to the file"

RUNS = 3
LIMIT = in_yardsticks(quiet_ms=5000.0)
"""Longest build of any file."""
MADE_AT = datetime(2026, 1, 1, tzinfo=UTC)
PRESETS = ("chatbot", "reasoning")
"""Examples that are timed: the first, and the one whose plans take longest."""
VARYING = {
    "name": "Lengths that vary",
    "model": "Qwen/Qwen3-30B-A3B",
    "workload": {
        "input_tokens": {"p50": 1500, "p95": 6000},
        "output_tokens": {"p50": 300, "p95": 900},
        "average_rps": 12,
        "mode": "sequential",
    },
    "limits": {"e2e_ms": 20_000},
    "deployment": {"gpus": ["h100_sxm", "l40s"]},
}
POOLS = {
    "name": "Pools of a large model",
    "model": "DeepSeek-R1",
    "workload": {
        "input_tokens": {"p50": 4000, "p95": 16_000},
        "output_tokens": {"p50": 1000, "p95": 4000},
        "average_rps": 120,
    },
    "limits": {"ttft_ms": 3000, "itl_ms": 40, "percentile": 95},
    "deployment": {"gpus": ["gb200", "b200_sxm"], "serving": ["disaggregated"]},
}
"""Both kinds of instances are searched: each plan takes five times as long as that of an ordinary deployment."""


def run() -> list[Row]:
    """The document of every scenario, then every file of the first, and the workbook of the last: the most plans."""
    scenarios = {name: presets()[name].scenario for name in PRESETS}
    scenarios["lengths that vary"] = Scenario.model_validate(VARYING)
    scenarios["pools"] = Scenario.model_validate(POOLS)
    known = {name: Answer.of(scenario) for name, scenario in scenarios.items()}
    rows = [_row(f"document, {name}", partial(_source, known[name])) for name in scenarios]
    first = next(iter(scenarios))
    files = [*((end, first) for end in FORMATS), (".xlsx", "pools")]
    return rows + [_row(f"{end}, {name}", partial(_file, end, known[name])) for end, name in files]


def _source(answer: Answer) -> ReportSource:
    return source_of(answer, released=Released.LIST_PRICES, made_at=MADE_AT, brand=Brand())


def _file(suffix: str, answer: Answer) -> bytes:
    return FORMATS[suffix].write(_source(answer))


def _row(what: str, build: Callable[[], object]) -> Row:
    times = Times()
    for _ in range(RUNS):
        times.time(build)
    return times.row(what, LIMIT, unit="s")
