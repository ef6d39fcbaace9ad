"""Chapters on the facts: files with source and date, accuracy lost to quantisation, and the catalogue itself."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from sizing import catalog
from sizing.base.units import BILLION, GB, GIB, TRILLION
from sizing.catalog import support_rows
from sizing.catalog.adapters import adapter_facts
from sizing.catalog.context import context_extensions
from sizing.catalog.derived import derived_scores
from sizing.catalog.drafts import acceptances, drafted_runs, model_drafts
from sizing.catalog.engine_memory import memory_rules
from sizing.catalog.files import DATA_DIR, Row, read_rows, read_yaml
from sizing.catalog.gguf_types import gguf_types
from sizing.catalog.gpu_rows import processors
from sizing.catalog.kv_tiers import kv_tiers
from sizing.catalog.slices import mig_profiles
from sizing.catalog.spot import spot_interruptions
from sizing.evidence.extrapolation import processor_runs
from sizing.methodology.content import Cell, FactTable, MethodologyChapter
from sizing.scenario.lengths import languages

LOADERS: dict[str, Callable[[], Any]] = {
    "gpus.csv": catalog.gpus,
    "systems.csv": catalog.systems,
    "server_hosts.csv": catalog.server_hosts,
    "cloud_instances.csv": catalog.cloud_instances,
    "cloud_fabrics.csv": catalog.cloud_fabrics,
    "models.csv": catalog.models,
    "checkpoints.csv": catalog.checkpoints,
    "engine_generations.csv": support_rows.by_generation,
    "engine_architectures.csv": support_rows.by_class,
    "engine_formats.csv": support_rows.by_format,
    "engine_layouts.csv": support_rows.rules,
    "engine_memory.csv": memory_rules,
    "engine_adapters.csv": adapter_facts,
    "context_extensions.csv": context_extensions,
    "quantization.csv": catalog.quantization,
    "gguf_types.csv": gguf_types,
    "api_prices.csv": catalog.api_prices,
    "gpu_street_prices.csv": catalog.street_prices,
    "lead_times.csv": catalog.lead_times,
    "tco.csv": catalog.tco,
    "use_cases.csv": catalog.use_cases,
    "languages.csv": languages,
    "kv_tiers.csv": kv_tiers,
    "speculation.csv": acceptances,
    "drafts.csv": model_drafts,
    "speculation_runs.csv": drafted_runs,
    "processors.csv": processors,
    "mig_profiles.csv": mig_profiles,
    "spot_interruptions.csv": spot_interruptions,
    "processor_runs.csv": processor_runs,
    "derived_models.csv": derived_scores,
}
"""Who reads each file of facts; the first words of its docstring say what the file holds."""

_TITLES = {
    "server_hosts.csv": "Servers without their GPUs",
    "cloud_instances.csv": "Cloud instances",
    "api_prices.csv": "API prices",
    "tco.csv": "Cost of ownership",
    "gpu_street_prices.csv": "Prices of single GPUs",
    "lead_times.csv": "Delivery times",
    "use_cases.csv": "Use cases",
    "kv_tiers.csv": "Second tiers for the KV cache",
    "cloud_fabrics.csv": "Fabrics between cloud instances",
    "engine_generations.csv": "Engines by GPU generation",
    "engine_architectures.csv": "Engines by model class",
    "engine_formats.csv": "Engines by number format",
    "engine_layouts.csv": "Engines by layout",
    "engine_memory.csv": "Memory by engine and version",
    "gguf_types.csv": "Types of GGUF files",
    "engine_adapters.csv": "Adapters by engine",
    "context_extensions.csv": "Extended context windows",
    "processors.csv": "Processors and unified memory",
    "mig_profiles.csv": "Slices of GPUs (MIG)",
    "spot_interruptions.csv": "Spot instances taken back in a month",
    "processor_runs.csv": "Runs on processors",
    "derived_models.csv": "Models made of larger ones",
}

_DATES = ("source_date", "date", "price_date")
_SOURCES = ("source", "source_primary", "config_source")
_ISO = re.compile(r"\b20\d\d(?:-[01]\d(?:-[0-3]\d)?)?\b")


def sources() -> MethodologyChapter:
    """Every file of facts with rows and dates, and every source with the rows it gave."""
    files = [path.name for path in sorted(DATA_DIR.glob("*.csv"))]
    rows = {name: read_rows(name) for name in files}
    overview = tuple((name, _content(name), len(rows[name]), _dates(rows[name])) for name in files)
    named = tuple((name, *row) for name in files for row in _named(rows[name]))
    return MethodologyChapter(
        slug="sources",
        title="Sources",
        intro=f"Data version {catalog.data_version()}. Facts are rows with a source and a date of their own; a cell "
        "that no source fills stays empty, and what needs it is not computed.",
        tables=(
            FactTable(title="Files", columns=("File", "Content", "Rows", "Dates of the rows"), rows=overview),
            FactTable(title="Sources by file", columns=("File", "Source", "Rows"), rows=named, in_document=False),
        ),
    )


def quantization_losses() -> MethodologyChapter:
    """What quantisation costs in accuracy, as published, with its source."""
    facts = [fact for fact in catalog.quantization() if fact.record_type == "accuracy"]
    rows = tuple((f.method, f.model, f.metric, f.baseline, f.quantized, f.loss, f.source, f.date) for f in facts)
    return MethodologyChapter(
        slug="quantisation",
        title="Quantisation",
        intro="Accuracy lost to number formats, as published. Figures hold for the model and benchmark named; measure "
        "your own task before you decide on a format.",
        tables=(
            FactTable(
                title="Published losses",
                rows=rows,
                columns=("Format", "Model", "Benchmark", "Before", "After", "Loss", "Source", "Date"),
            ),
            FactTable(
                title="Ways to make a model smaller, and ONNX",
                rows=tuple(tuple(map(str, way.values())) for way in read_yaml("compression.yaml")),
                columns=("Way", "What it is", "What it takes", "What it keeps", "What runs it", "Source", "Date"),
            ),
        ),
    )


def facts() -> MethodologyChapter:
    """The catalogue itself, for the page: accelerators, systems, models and prices."""
    return MethodologyChapter(
        slug="catalogue",
        title="Catalogue",
        intro="TFLOPS are dense. Links are in one direction. An empty cell is unknown.",
        tables=(_gpus(), _systems(), _models(), *map(_plain, _TITLES)),
        in_document=False,
    )


def _gpus() -> FactTable:
    return FactTable.of_records(
        "Accelerators",
        (
            {
                "GPU": g.name,
                "Id": g.id,
                "Family": g.family,
                "Memory (GB)": g.memory_gb,
                "Driver shows (GiB)": round(g.memory_bytes / GIB, 2),
                "Bandwidth (GB/s)": g.memory_bandwidth / GB,
                "FP16/BF16 (TFLOPS)": _tera(g.bf16_flops or g.fp16_flops),
                "FP8 (TFLOPS)": _tera(g.fp8_flops),
                "INT8 (TOPS)": _tera(g.int8_ops),
                "FP4 (TFLOPS)": _tera(g.fp4_flops),
                "Link (GB/s)": None if g.link_bytes_per_s is None else g.link_bytes_per_s / GB,
                "GPUs in domain": g.domain_gpus,
                "TDP (W)": g.tdp_w,
                "Source": g.source,
                "Date": g.source_date,
            }
            for g in catalog.gpus().values()
        ),
    )


def _systems() -> FactTable:
    return FactTable.of_records(
        "Systems",
        (
            {
                "System": s.name,
                "Id": s.id,
                "GPU": s.gpu_id,
                "GPUs": s.gpus,
                "GPUs in domain": s.domain_gpus,
                "Power (kW)": s.max_power_kw,
                "Rack units": s.rack_units,
                "Price, low (USD)": s.price_low_usd,
                "Price, high (USD)": s.price_high_usd,
                "Price basis": s.price_basis,
                "Price source": s.price_source,
                "Price date": s.price_date,
                "Source": s.source,
            }
            for s in catalog.systems().values()
        ),
    )


def _models() -> FactTable:
    return FactTable.of_records(
        "Models",
        (
            {
                "Model": m.id,
                "Family": m.family,
                "Parameters (billions)": round(m.params_total / BILLION, 3),
                "Active (billions)": round(m.params_per_token / BILLION, 3),
                "Layers, as computed": m.layers,
                "Attention": m.attention.upper(),
                "KV heads": m.kv_heads,
                "Experts": m.experts or None,
                "Experts per token": m.experts_per_token or None,
                "Sliding window (tokens)": m.sliding_window,
                "Context (tokens)": m.max_context,
                "Native format": m.native_precision,
                "Assumptions": "; ".join(m.assumptions) or None,
                "Source": m.source,
            }
            for m in catalog.models().values()
        ),
    )


def _plain(filename: str) -> FactTable:
    """A file as it is, without its empty columns."""
    rows = read_rows(filename)
    kept = [name for name in rows[0] if any(row[name] for row in rows)]
    columns = [_column([row[name] for row in rows]) for name in kept]
    return FactTable(title=_TITLES[filename], columns=tuple(kept), rows=tuple(zip(*columns, strict=True)))


def _column(texts: list[str]) -> list[Cell]:
    """Numbers where every cell that is filled is one, else text; an empty cell is unknown."""
    try:
        return [float(text) if text else None for text in texts]
    except ValueError:
        return [text or None for text in texts]


def _tera(rate: float | None) -> float | None:
    return None if rate is None else round(rate / TRILLION, 3)


def _content(filename: str) -> str:
    doc = LOADERS[filename].__doc__ if filename in LOADERS else None
    return (doc or "").split("\n")[0].split(", in file order")[0].split(" by id")[0].rstrip(".") + "."


def _dates(rows: Iterable[Row]) -> str:
    """First and last date named in the rows, and how many name none."""
    texts = [" ".join(row.get(name) or "" for name in _DATES) for row in rows]
    dates = sorted(date for text in texts for date in _ISO.findall(text))
    undated = sum(1 for text in texts if not _ISO.search(text))
    span = "no dates" if not dates else dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return span + (f", {undated} undated" if undated and dates else "")


def _named(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """Distinct sources of a file with their number of rows, most first."""
    named: Counter[str] = Counter()
    for row in rows:
        named.update({row[name] for name in _SOURCES if row.get(name)})
    return named.most_common()
