"""The catalogue as tables to read, for ``python -m sizing catalog``: names with units, sources and dates."""

from collections.abc import Iterator
from typing import Any, Literal

import pandas as pd

from sizing.base.units import BILLION, GB, GIB, TRILLION
from sizing.catalog.facts import api_prices, street_prices
from sizing.catalog.files import DATA_DATE
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.model_rows import models
from sizing.catalog.system_rows import cloud_instances, server_hosts, systems

CatalogKind = Literal["models", "gpus", "systems", "prices"]


def catalog_table(kind: CatalogKind) -> pd.DataFrame:
    """One table of the catalogue; every row names its source and date, an unknown fact is empty."""
    builders = {"models": _models, "gpus": _gpus, "systems": _systems, "prices": _prices}
    return builders[kind]()


def _models() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": m.id,
            "family": m.family,
            "parameters (billion)": round(m.params_total / BILLION, 3),
            "active (billion)": round(m.params_per_token / BILLION, 3),
            "layers": m.layers,
            "width": m.hidden_size,
            "heads": m.heads,
            "KV heads": m.kv_heads,
            "attention": m.attention,
            "KV values per token": m.kv_elements_full + m.kv_elements_sliding,
            "experts": m.experts or None,
            "context (tokens)": m.max_context,
            "published in": m.native_precision,
            "licence": m.license,
            "released": m.release_date,
            "assumptions": "; ".join(m.assumptions),
            "source": m.source,
            "date": DATA_DATE,
        }
        for m in models().values()
    )


def _gpus() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": g.id,
            "GPU": g.name,
            "vendor": g.vendor,
            "architecture": g.architecture,
            "edition": g.edition,
            "made for": g.market,
            "status": g.status,
            "memory (GB)": g.memory_gb,
            "driver shows (GiB)": round(g.memory_bytes / GIB, 2),
            "bandwidth (GB/s)": g.memory_bandwidth / GB,
            "FP16 (TFLOPS, dense)": _in(g.fp16_flops, TRILLION),
            "BF16 (TFLOPS, dense)": _in(g.bf16_flops, TRILLION),
            "FP8 (TFLOPS, dense)": _in(g.fp8_flops, TRILLION),
            "INT8 (TOPS, dense)": _in(g.int8_ops, TRILLION),
            "FP4 (TFLOPS, dense)": _in(g.fp4_flops, TRILLION),
            "link": g.link_name,
            "link, one direction (GB/s)": _in(g.link_bytes_per_s, GB),
            "GPUs in link domain": g.domain_gpus,
            "TDP (W)": g.tdp_w,
            "notes": g.notes,
            "source": g.source,
            "date": g.source_date,
        }
        for g in gpus().values()
    )


def _systems() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": s.id,
            "system": s.name,
            "vendor": s.vendor,
            "GPU": s.gpu_id,
            "GPUs": s.gpus,
            "built into": s.host,
            "interconnect": s.interconnect,
            "maximum power (kW)": s.max_power_kw,
            "cooling": s.cooling,
            "rack units": s.rack_units,
            "price from (USD)": s.price_low_usd,
            "price to (USD)": s.price_high_usd,
            "price basis": s.price_basis or "",
            "price source": s.price_source,
            "price date": s.price_date,
            "notes": s.notes,
            "source": s.source,
            "date": s.source_date,
        }
        for s in systems().values()
    )


def _prices() -> pd.DataFrame:
    """Cloud instances, accelerators, servers without them and hosted models; ``kind`` says which columns are filled."""
    return pd.DataFrame([*_rented(), *_bought(), *_around_gpus(), *_hosted()])


def _rented() -> Iterator[dict[str, Any]]:
    for c in cloud_instances():
        yield {
            "kind": "cloud instance",
            "offer": f"{c.provider} {c.instance_type}",
            "GPU or model": c.gpu_id,
            "GPUs": c.gpus,
            "region": c.region,
            "on demand (USD/h)": c.on_demand_usd_per_hour,
            "spot (USD/h)": c.spot_usd_per_hour,
            "other terms": c.other_terms.replace("_", " "),
            "on other terms (USD/h)": c.other_usd_per_hour,
            "basis": c.price_basis,
            "notes": "; ".join(text for text in (c.availability, c.notes) if text),
            "source": c.source,
            "date": c.date,
        }


def _bought() -> Iterator[dict[str, Any]]:
    for p in street_prices():
        yield {
            "kind": "GPU purchase",
            "offer": p.edition,
            "GPU or model": p.gpu_id,
            "GPUs": p.gpus_per_price,
            "basis": p.basis,
            "price from (USD)": p.price_usd_low,
            "price to (USD)": p.price_usd_high,
            "notes": "; ".join(text for text in (p.superseded and f"superseded {p.superseded}", p.notes) if text),
            "source": p.source,
            "date": p.date,
        }


def _around_gpus() -> Iterator[dict[str, Any]]:
    for h in (host for host in server_hosts().values() if host.price_source):
        yield {
            "kind": "server without GPUs",
            "offer": h.name,
            "GPUs": h.max_gpus,
            "price from (USD)": h.price_usd_low,
            "price to (USD)": h.price_usd_high,
            "basis": h.price_basis or "",
            "notes": h.notes,
            "source": h.price_source,
            "date": h.price_date,
        }


def _hosted() -> Iterator[dict[str, Any]]:
    for a in api_prices():
        yield {
            "kind": "hosted model",
            "offer": a.provider,
            "GPU or model": a.model,
            "input (USD/million tokens)": a.input_usd_per_mtok,
            "output (USD/million tokens)": a.output_usd_per_mtok,
            "cached input (USD/million tokens)": a.cached_input_usd_per_mtok,
            "source": a.source,
            "date": a.date,
        }


def _in(value: float | None, unit: float) -> float | None:
    return None if value is None else round(value / unit, 2)
