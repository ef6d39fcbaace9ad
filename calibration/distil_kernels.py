"""``python -m calibration.distil_kernels [WHEEL]``: ``kernels.yaml``, the roofline's efficiencies in real kernels.

The roofline's own operators are fitted to each table of NVIDIA's measured kernels; a family's number is the median over
its GPUs, frameworks and formats, the default's the geometric mean over families. They are the priors of the fit to
published benchmarks (``calibration/fit_parameters.py``), and all that is left of the tables.
"""

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar

from calibration.distil_attention import Kernel, decodes, over_heads, prompts
from calibration.distil_collectives import Collective, all_reduces, all_to_alls
from calibration.distil_fit import SurfaceErrors, geometric_mean, median
from calibration.distil_matrices import (
    Product,
    dense_products,
    dense_tables,
    expert_products,
    expert_tables,
    imbalance,
    number_width,
)
from calibration.kernel_priors import KERNELS, kernels
from calibration.kernel_tables import VERSION, NoTables, fetched
from calibration.yaml_lines import flow_mapping
from sizing.steps.efficiency import by_lanes
from sizing.steps.hardware import power_of, products_per_lane

READ_ON = "2026-11-23"
"""Day of the tables' reading; a constant, so that the same tables give the same file."""
WIDTHS = ("16", "8", "4")
Grouped = dict[str, dict[str, float]]


def distilled(wheel: Path) -> dict[str, object]:
    """Everything that ``kernels.yaml`` says."""
    dense_rows, expert_rows = dense_tables(wheel), expert_tables(wheel)
    free_dense = dense_products(dense_rows)
    free_experts = expert_products(expert_rows, _typical(free_dense, "memory", "16"))
    exposed = {w: _exposed(free_dense, free_experts, w) for w in WIDTHS}
    shared = {name: median(p.fit.values[name] for p in free_experts) for name in ("evenness", "expert_passes")}
    power = _power(free_dense)
    dense = dense_products(dense_rows, exposed)
    families = _dense_families(dense, power)
    wide_memory = families["default"]["memory_16"]
    experts = expert_products(expert_rows, wide_memory, exposed, **shared)
    memory: Mapping[str, float] = defaultdict(lambda: wide_memory)
    shared["query_pairs"] = median(k.fit.values["query_pairs"] for k in prompts(wheel, memory, exposed["16"]))
    attention = prompts(wheel, memory, exposed["16"], shared["query_pairs"])
    _add(families, "attention", _kernel_families(attention))
    decode = decodes(wheel, _of(families, "attention"), exposed["16"])
    _add(families, "kv", _kernel_families(decode))
    reduces, exchanges = all_reduces(wheel), all_to_alls(wheel)
    fast = [c for c in reduces if c.chip.gpu.has_fast_link]
    _add(families, "link", _by_family((c.chip.family, c.fit.values["link"]) for c in fast))
    weight_only = _weight_only(dense, experts)
    common = {
        "power": power,
        **{f"exposed_{w}": exposed[w] for w in WIDTHS},
        **shared,
        "imbalance": float(np.exp(np.mean(np.log(imbalance(expert_rows))))),
        "weight_only": weight_only,
        **_expert_rates(experts, families, power, weight_only),
        **_latencies(fast),
    }
    return {
        "source": {"package": "aisimulate", "version": VERSION, "licence": "Apache-2.0", "read": READ_ON},
        "families": families,
        "engines": _engines(fast, dense),
        "common": common,
        "all_to_all": _all_to_all(exchanges),
        "surfaces": _surfaces(dense, experts, attention, decode, reduces, exchanges),
    }


def _typical(products: Sequence[Product], name: str, width: str) -> float:
    return median(p.fit.values[name] for p in products if p.width == width)


def _exposed(dense: Sequence[Product], experts: Sequence[Product], width: str) -> float:
    """Exposed share of the smaller time: the geometric mean of dense products and experts, which share it."""
    return geometric_mean(
        median(p.fit.values["exposed"] for p in products if number_width(p.kind) == width)
        for products in (dense, experts)
    )


def _power(dense: Sequence[Product]) -> float:
    """Exponent of watts per FLOP/s in the share of the 16-bit matrix rate, over GPUs and frameworks; at least 0."""
    wide = [p for p in dense if p.kind == "bfloat16"]
    watts = np.log([power_of(p.chip.gpu) for p in wide])
    slope = np.polyfit(watts, np.log([p.fit.values["matrix"] for p in wide]), 1)[0]
    return float(max(slope, 0.0))


def _by_family(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Median by family, and the geometric mean over families as the default."""
    groups: dict[str, list[float]] = defaultdict(list)
    for family, value in values:
        groups[family].append(value)
    out = {family: median(measured) for family, measured in sorted(groups.items())}
    return {"default": geometric_mean(out.values()), **out}


def _dense_families(dense: Sequence[Product], power: float) -> Grouped:
    """Matrix and memory shares by family, the former relative to what the power limit sustains."""
    families: Grouped = {}
    for width in WIDTHS:
        own = [p for p in dense if p.width == width]
        rate = _by_family((p.chip.family, p.fit.values["matrix"] / power_of(p.chip.gpu) ** power) for p in own)
        narrow = [p for p in dense if p.width == width or (width == "4" and p.width == "weight_only")]
        _add(families, f"matrix_{width}", rate)
        _add(families, f"memory_{width}", _by_family((p.chip.family, p.fit.values["memory"]) for p in narrow))
    return families


def _add(families: Grouped, name: str, values: Mapping[str, float]) -> None:
    for family, value in values.items():
        families.setdefault(family, {})[name] = value


def _of(families: Grouped, name: str) -> dict[str, float]:
    """One quantity by family, the default's for families that lack it."""
    return defaultdict(
        lambda: families["default"][name], {f: values[name] for f, values in families.items() if name in values}
    )


def _kernel_families(kernels: Sequence[Kernel]) -> dict[str, float]:
    """Median share over frameworks and KV formats by family and head size, then the mean over head sizes."""
    groups: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for k in kernels:
        groups[k.chip.family][k.head].append(k.fit.values["share"])
    return _by_family((f, over_heads({h: median(v) for h, v in heads.items()})) for f, heads in groups.items())


def _weight_only(dense: Sequence[Product], experts: Sequence[Product]) -> float:
    """Matrix rate of formats that are widened before they are multiplied, relative to 16 bit on the same GPU and
    framework, as it would be on the H100 SXM (:func:`sizing.steps.efficiency.by_lanes`): that of the least mean
    distance to the logarithms of dense products and of experts."""
    pairs = []
    for products in (dense, experts):
        wide = {(p.chip.gpu.id, p.framework): _matrix(p) for p in products if p.kind == "bfloat16"}
        narrow = [p for p in products if p.width == "weight_only" and (p.chip.gpu.id, p.framework) in wide]
        pairs += [(products_per_lane(p.chip.gpu), _matrix(p) / wide[p.chip.gpu.id, p.framework]) for p in narrow]

    def distance(on_h100: float) -> float:
        return sum(abs(math.log(by_lanes(on_h100, per_lane) / rate)) for per_lane, rate in pairs)

    return float(minimize_scalar(distance, bounds=(0.05, 1.0), method="bounded").x)


def _matrix(product: Product) -> float:
    return product.fit.values["matrix"]


def _expert_rates(experts: Sequence[Product], families: Grouped, power: float, weight_only: float) -> dict[str, float]:
    """Rates of experts relative to dense products of the family."""
    matrix: list[float] = []
    memory: dict[str, list[float]] = {w: [] for w in WIDTHS}
    for p in experts:
        bytes_width = "4" if p.width == "weight_only" else p.width
        factor = by_lanes(weight_only, products_per_lane(p.chip.gpu)) if p.width == "weight_only" else 1.0
        reached = _of(families, f"matrix_{number_width(p.kind)}")[p.chip.family] * power_of(p.chip.gpu) ** power
        matrix.append(_matrix(p) / (min(reached, 1.0) * factor))
        memory[bytes_width].append(p.fit.values["memory"] / _of(families, f"memory_{bytes_width}")[p.chip.family])
    return {"expert_matrix": median(matrix), **{f"expert_memory_{w}": median(memory[w]) for w in WIDTHS}}


def _latencies(fast: Sequence[Collective]) -> dict[str, float]:
    """Latency of an all-reduce over two GPUs with a fast link, and its growth with their number."""
    return {
        "collective_s": geometric_mean(_by_engine(fast, "latency").values()),
        "collective_growth": median(c.fit.values["growth"] for c in fast),
    }


def _by_engine(reduces: Sequence[Collective], name: str) -> dict[str, float]:
    engines = sorted({c.framework for c in reduces})
    return {e: median(c.fit.values[name] for c in reduces if c.framework == e) for e in engines}


def _engines(fast: Sequence[Collective], dense: Sequence[Product]) -> Grouped:
    """Latency of an engine's collectives and its bandwidth for dense 4-bit weights, both relative to the mean engine,
    and what a second shot adds."""
    latency, second = (_by_engine(fast, name) for name in ("latency", "two_shot_s"))
    four = [p for p in dense if p.width == "4"]
    memory = {e: median(p.fit.values["memory"] for p in four if p.framework == e) for e in latency}
    means = geometric_mean(latency.values()), geometric_mean(memory.values())
    return {
        e: {"collective": latency[e] / means[0], "dense_4": memory[e] / means[1], "two_shot_s": second[e]}
        for e in latency
    }


def _all_to_all(exchanges: Sequence[Collective]) -> Grouped:
    """Latency of dispatch or combine and share of the link by framework: for comparison, no prior."""
    out: Grouped = {}
    for engine in sorted({c.framework for c in exchanges}):
        own = [c.fit.values for c in exchanges if c.framework == engine]
        out[engine] = {"latency_s": median(v["latency"] for v in own), "link": median(v["link"] for v in own)}
    return out


def _surfaces(
    dense: Sequence[Product],
    experts: Sequence[Product],
    attention: Sequence[Kernel],
    decode: Sequence[Kernel],
    reduces: Sequence[Collective],
    exchanges: Sequence[Collective],
) -> Grouped:
    """Measurements of each surface and how far the roofline's form is from them when fitted to each table."""
    parts: dict[str, Sequence[Product | Kernel | Collective]] = {}
    for name, products in (("dense", dense), ("experts", experts)):
        for width in (*WIDTHS, "weight_only"):
            parts[f"{name}_{width}"] = [p for p in products if p.width == width]
    parts |= {"prompt_attention": attention, "decode_attention": decode}
    parts["all_reduce"] = [c for c in reduces if c.chip.gpu.has_fast_link]
    parts["all_reduce_pcie"] = [c for c in reduces if not c.chip.gpu.has_fast_link]
    parts["all_to_all"] = exchanges
    return {n: {"tables": len(p), **SurfaceErrors([x.fit.errors for x in p]).figures()} for n, p in parts.items() if p}


def kernels_yaml(sections: Mapping[str, object]) -> str:
    """The file: three significant digits, one line per family, engine or surface."""
    lines = [
        "# The roofline's efficiencies as measured kernels have them: priors of the fit to published benchmarks.",
        "# Written by `python -m calibration.distil_kernels`; names: sizing/steps/efficiency.py.",
        "# Errors are of the roofline's form fitted to each table, in percent.",
    ]
    for title, content in sections.items():
        assert isinstance(content, dict)
        if all(isinstance(v, dict) for v in content.values()):
            lines.append(f"{title}:")
            lines += [f"  {name}: {flow_mapping(values)}" for name, values in content.items()]
        else:
            lines.append(f"{title}: {flow_mapping(content)}")
    return "\n".join(lines) + "\n"


def distil(wheel: Path | None = None) -> None:
    """Rewrite ``kernels.yaml``, from a wheel or the fetched one. Raises NoTables without the tables."""
    KERNELS.write_text(kernels_yaml(distilled(wheel or fetched())), encoding="utf-8")
    kernels.cache_clear()  # what was just written


def main() -> int:
    """Distil and write. Exit code 0, 2 without the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m calibration.distil_kernels", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("wheel", nargs="?", type=Path, help="a wheel of aisimulate; fetched when not given")
    try:
        distil(parser.parse_args().wheel)
    except NoTables as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
