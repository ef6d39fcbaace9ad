"""llm-d-benchmark: its benchmark report of schema 0.1 and 0.2, beside the results of any of its clients.

After llm-d/llm-d-benchmark benchmark_report/schema_v0_1.py and schema_v0_2.py (08e0c22) and the reports in the guides
of llm-d (read 2026-11-30). Each statistic states its unit; one that is not known refuses the row.
"""

from collections.abc import Mapping
from dataclasses import replace

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, median_or_key
from collectors.benchmarks.records import BenchmarkedSystem, BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import BenchmarkLoad, rate_or_concurrency, read_objects
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.foreign_text import shown
from commandline.percentiles import key_of

FORMAT = "llm-d-benchmark"
FILE = "the benchmark report (`benchmark_report*.yaml` or `.json`) of each stage"
PRIORITY = 26  # the lowest is asked first: see reader.Tool
ENGINE = None

IN_MS: Mapping[str, float] = {"s": MS_PER_S, "s/token": MS_PER_S, "ms": 1.0, "ms/token": 1.0}
"""Milliseconds of the units that the schemas allow for times."""
NOTES = ("Normalised time per output token (E2E over the tokens generated) is not read: it holds the wait.",)


def detect(document: Document) -> bool:
    """A version beside a scenario with metrics or results."""
    keys = document.first.keys()
    return {"version", "scenario"} <= keys and ("metrics" in keys or "results" in keys)


def parse(document: Document) -> Imported:
    """One point a report."""
    return read_objects(document, FORMAT, _point, notes=NOTES)


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    scenario = fields.child("scenario")
    newer = fields.has("results")
    metrics = (
        fields.child("results").child("request_performance").child("aggregate") if newer else fields.child("metrics")
    )
    requests, latency, rates = (metrics.child(key) for key in ("requests", "latency", "throughput"))
    load = _load(scenario.child("load"))
    served = _stack(scenario) if newer else _host(scenario)
    total, failed = requests.whole("total"), requests.whole("failures")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        model=served.model,
        engine=served.engine,
        engine_version=served.engine_version,
        gpu=served.gpu,
        gpus=served.gpus,
        tp=served.tp,
        pp=served.pp,
        ep=served.ep,
        dp=served.dp,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        isl_mean=requests.child("input_length").number("mean"),
        osl_mean=requests.child("output_length").number("mean"),
        duration_s=metrics.child("time").number("duration"),
        requests_completed=None if total is None else total - (failed or 0),
        requests_failed=failed,
        ttft_ms=_stats(latency, "time_to_first_token"),
        tpot_ms=_stats(latency, "time_per_output_token"),
        itl_ms=_stats(latency, "inter_token_latency"),
        e2e_ms=_stats(latency, "request_latency"),
        requests_per_s=_rate(rates, "requests_rate", "request_rate", "requests_per_sec"),
        output_tokens_per_s=_rate(rates, "output_token_rate", "output_tokens_per_sec"),
        total_tokens_per_s=_rate(rates, "total_token_rate", "total_tokens_per_sec"),
        notes=load.notes,
    )


def _stats(latency: Fields, name: str) -> LatencyStats:
    """A block of statistics in the unit that it states."""
    block = latency.child(name)
    if not block.values:
        return LatencyStats()
    unit = block.text("units") or ""
    if unit not in IN_MS:
        raise BadRow(f"{name} is in “{shown(unit)}”, which is no unit of time known here")
    scale = IN_MS[unit]
    mean = block.number("mean", scale=scale)
    return latency_stats(
        name, mean=mean, at=lambda percent: block.number(key_of(percent), median_or_key(percent), scale=scale)
    )


def _rate(rates: Fields, *names: str) -> float | None:
    """A rate, which is a number in 0.1 and the mean of a block in 0.2."""
    name = next((name for name in names if rates.has(name)), names[0])
    return rates.child(name).number("mean") if isinstance(rates.values.get(name), dict) else rates.number(name)


def _load(load: Fields) -> BenchmarkLoad:
    """The load as the schema says it, or as the client was told: a stage of inference-perf, options of vLLM."""
    stated = load.child("standardized")
    rate, concurrency = stated.number("rate_qps"), stated.number("concurrency")
    if rate or concurrency:
        return BenchmarkLoad(mode="fixed_rate" if rate else "fixed_concurrency", rate_rps=rate, concurrency=concurrency)
    args = load.child("args") if load.has("args") else load.child("native").child("args")
    stages = args.child("load").items("stages")
    stage = load.child("metadata").whole("stage") or stated.whole("stage") or 0
    if stage < len(stages) and isinstance(offered := stages[stage], dict):
        rate = Fields(values=offered).number("rate")
        return BenchmarkLoad(mode="fixed_rate", rate_rps=rate) if rate else BenchmarkLoad()
    return rate_or_concurrency(args)


def _host(scenario: Fields) -> BenchmarkedSystem:
    """Model, engine and GPUs of schema 0.1."""
    engines = [one for one in scenario.child("platform").items("engine") if isinstance(one, dict)]
    cards = [one for one in scenario.child("host").items("accelerator") if isinstance(one, dict)]
    engine = Fields(values=engines[0] if engines else {})
    named = BenchmarkedSystem(
        model=scenario.child("model").text("name"), engine=engine.text("name"), engine_version=engine.text("version")
    )
    return _on_cards(named, [Fields(values=card) for card in cards], [1] * len(cards))


def _stack(scenario: Fields) -> BenchmarkedSystem:
    """Model, engine and GPUs of schema 0.2: those of the components that have accelerators."""
    parts = [Fields(values=one).child("standardized") for one in scenario.items("stack") if isinstance(one, dict)]
    serving = [part for part in parts if part.has("accelerator")]
    first = serving[0] if serving else Fields()
    copies = [part.whole("replicas") or 1 for part in serving]
    named = BenchmarkedSystem(
        model=first.child("model").text("name"), engine=first.text("tool"), engine_version=first.text("tool_version")
    )
    return _on_cards(named, [part.child("accelerator") for part in serving], copies)


def _on_cards(named: BenchmarkedSystem, cards: list[Fields], copies: list[int]) -> BenchmarkedSystem:
    """The same with the GPUs of all instances, and how an instance is spread where all are alike."""
    counts = [card.whole("count") for card in cards]
    spread = cards[0].child("parallelism") if len({str(card.values) for card in cards}) == 1 else Fields()
    known = [count * times for count, times in zip(counts, copies, strict=True) if count]
    names = {card.text("model") for card in cards}
    return replace(
        named,
        gpu=names.pop() if len(names) == 1 else None,
        gpus=sum(known) if known and len(known) == len(counts) else None,
        tp=spread.whole("tp"),
        pp=spread.whole("pp"),
        ep=spread.whole("ep"),
        dp=spread.whole("dp"),
    )
