"""How long an instance takes from its start to its first request, on a machine that runs.

bytes / min(storage, loader) + compilation + CUDA graphs + process and warm-up. Constants with their sources:
``data/start_up.yaml``; how far off they were: ``docs/accuracy/start_up.csv``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from sizing.base.choices import Loader, Standby, WeightsFrom
from sizing.base.units import GB, MS_PER_S
from sizing.catalog.engines import Engine
from sizing.catalog.files import read_yaml
from sizing.catalog.model import Model
from sizing.catalog.weights import weight_bytes
from sizing.deployments.layouts import SERVER_GPUS
from sizing.question.configuration import Configuration

LayerKind = Literal["dense", "experts", "latent_experts"]
"""Kinds of layers, by how many kernels a step starts in one: with experts, those beside latent or sparse attention, or
neither."""
LAYER_KINDS: tuple[LayerKind, ...] = get_args(LayerKind)

CAPTURED_SINGLY, EVERY_EIGHTH_TO, EVERY_SIXTEENTH = (1, 2, 4), 256, 16
"""Sizes of which graphs are captured: these, every eighth up to there, then every sixteenth (vLLM 0.33.0,
config/vllm.py; SGLang 0.5.23, server_args.py)."""


@dataclass(frozen=True, kw_only=True)
class StartTime:
    """Seconds of a start by part; ``low_s`` and ``high_s`` are the ends of what the sources say of compilation, graphs
    and process together with the rest. ``gb`` (10^9 bytes) are read at ``gb_per_s`` a machine."""

    weights_s: float
    compile_s: float
    graphs_s: float
    process_s: float
    low_s: float
    high_s: float
    gb: float
    gb_per_s: float

    @property
    def total_s(self) -> float:
        """All parts, one after the other."""
        return self.weights_s + self.compile_s + self.graphs_s + self.process_s


def start_time(
    model: Model,
    row: Configuration,
    storage: WeightsFrom,
    *,
    gb_per_s: float | None = None,
    loader: Loader = "default",
    standby: Standby = "none",
    kept_compilation: bool = False,
) -> StartTime:
    """The start of one instance; ``gb_per_s`` replaces what its ``storage`` gives each machine.

    Asleep it keeps process, compilation and graphs: its weights come back from host memory, or are read again. A warm
    instance is ready at once. Each machine of an instance reads its own part of the weights.
    """
    machines = max(-(-row.gpus // max(row.gpu.domain_gpus, SERVER_GPUS)), 1)
    gb = weight_bytes(model, row.precision) / machines / GB
    processes = max(row.gpus / machines, 1.0)
    rate = _rate(storage, gb_per_s, loader, processes)
    read_s = _read_s(gb, storage, gb_per_s, loader, processes)
    if standby in ("sleep", "sleep_without_weights") and not can_sleep(row.engine):
        standby = "none"
    match standby:
        case "warm":
            return StartTime(**dict.fromkeys(_PARTS, 0.0), gb=gb, gb_per_s=rate)
        case "sleep" | "sleep_without_weights":
            back = gb / processes / _value("sleep", "pcie_gb_per_s") if standby == "sleep" else read_s
            woken = _value("sleep", "wake_s")
            ends = {"low_s": woken + back, "high_s": woken + back}
            parts = {"weights_s": back, "compile_s": 0.0, "graphs_s": 0.0, "process_s": woken}
            return StartTime(**parts, **ends, gb=gb, gb_per_s=gb / back if back else rate)
        case "none":
            return _cold(model, row, read_s, gb, rate, kept_compilation=kept_compilation)


_PARTS = ("weights_s", "compile_s", "graphs_s", "process_s", "low_s", "high_s")


def _cold(
    model: Model, row: Configuration, read_s: float, gb: float, rate: float, *, kept_compilation: bool
) -> StartTime:
    """The three ends of every part, added up."""
    compiled, graphs = _compile_s(model, row, kept=kept_compilation), _graphs_s(model, row)
    profile = _ends("profile_s", layer_kind(model))
    process = [sum(ends) for ends in zip(_ends("process_s"), profile, strict=True)]
    value, low, high = (read_s + sum(parts) for parts in zip(compiled, graphs, process, strict=True))
    assert abs(value - (read_s + compiled[0] + graphs[0] + process[0])) < 1e-6
    return StartTime(
        weights_s=read_s,
        compile_s=compiled[0],
        graphs_s=graphs[0],
        process_s=process[0],
        low_s=low,
        high_s=high,
        gb=gb,
        gb_per_s=rate,
    )


def _compile_s(model: Model, row: Configuration, *, kept: bool) -> tuple[float, float, float]:
    """Compilation, with the low and the high end of what is published; none by engines that do not compile."""
    if row.engine.id not in _data()["compiles"]:
        return 0.0, 0.0, 0.0
    if kept:
        seconds = _value("kept_compile_s") + _data()["kept_compile_s"]["per_layer"] * model.layers
        return seconds, seconds, seconds
    experts = "experts" if model.is_moe else "dense"
    value, low, high = (end * model.layers for end in _ends("compile_s_per_layer", experts))
    return value, low, high


def layer_kind(model: Model) -> LayerKind:
    """The kind of a model's layers, by which warm-up and graphs take longer."""
    if not model.is_moe:
        return "dense"
    return "latent_experts" if model.latent is not None or model.sparse is not None else "experts"


def _graphs_s(model: Model, row: Configuration) -> tuple[float, float, float]:
    """Capture of CUDA graphs: graphs x layers of a pipeline stage x what one of them takes, x TP ^ exponent."""
    if row.engine.id in _data()["without_graphs"] or row.gpu.processor:
        return 0.0, 0.0, 0.0
    times = _capture(row.engine)["times"] * float(row.tp) ** _value("tp_exponent") / MS_PER_S
    launched = captured_graphs(model, row) * -(-model.layers // row.pp) * times
    value, low, high = (end * launched for end in _ends("graph_ms", layer_kind(model)))
    return value, low, high


def captured_graphs(model: Model, row: Configuration) -> int:
    """Graphs that an engine captures when it starts, by its defaults and the limit of sequences."""
    capture, sequences = _capture(row.engine), row.batch_limit or row.engine.sequences(row.gpu)
    if "sizes" in capture:
        return int(capture["sizes"])
    if not capture["both"]:
        return _sizes(min(row.engine.captured_sequences(row.gpu, row.gpus), sequences))
    largest = min(_data()["captured_largest"].get(model.hf_architecture, capture["largest"]), 2 * sequences)
    return _sizes(largest) + _sizes(min(largest, sequences))


def _sizes(largest: int) -> int:
    """How many sizes are captured up to the largest."""
    single = sum(size <= largest for size in CAPTURED_SINGLY)
    eighths = min(largest, EVERY_EIGHTH_TO) // 8
    return single + eighths + max(largest - EVERY_EIGHTH_TO, 0) // EVERY_SIXTEENTH


def _capture(engine: Engine) -> Mapping[str, Any]:
    """How an engine captures graphs; one that nobody looked at as vLLM."""
    captures: Mapping[str, Mapping[str, Any]] = _data()["captures"]
    return captures.get(engine.id) or captures.get(engine.built_on) or captures["vllm"]


def _rate(storage: WeightsFrom, gb_per_s: float | None, loader: Loader, processes: float) -> float:
    """GB/s at which the last step of loading reads: min(storage, loader)."""
    known = _data()["storage"][storage]
    from_storage = gb_per_s or known["gb_per_s"]
    if loader == "default":
        if gb_per_s is None:
            from_storage = known.get("default_loader_gb_per_s", from_storage)
        return float(min(from_storage, _data()["loaders"]["default"]["gb_per_s"] * processes))
    return float(min(from_storage, _data()["loaders"]["streaming"]["gb_per_s"]))


def _read_s(gb: float, storage: WeightsFrom, gb_per_s: float | None, loader: Loader, processes: float) -> float:
    """Seconds until the weights are on the GPUs; what has to be on a disk first is downloaded before it is read."""
    known = _data()["storage"][storage]
    if loader == "default" and known.get("downloads"):
        again = min(_data()["storage"]["local_nvme"]["gb_per_s"], _data()["loaders"]["default"]["gb_per_s"] * processes)
        return float(gb / (gb_per_s or known["gb_per_s"]) + gb / again)
    return gb / _rate(storage, gb_per_s, loader, processes)


def can_sleep(engine: Engine) -> bool:
    """Whether an engine can give up its GPU memory and be woken: a start of others is from nothing."""
    return engine.id in _data()["sleeps"]


def storage_label(storage: WeightsFrom) -> str:
    """What a kind of storage is called in a sentence."""
    return str(_data()["storage"][storage]["label"])


@cache
def _data() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = read_yaml("start_up.yaml")
    return loaded


def _value(*names: str) -> float:
    entry: Any = _data()
    for name in names:
        entry = entry[name]
    return float(entry["value"])


def _ends(*names: str) -> tuple[float, float, float]:
    """Value, low and high end of a constant."""
    entry: Any = _data()
    for name in names:
        entry = entry[name]
    return float(entry["value"]), float(entry["low"]), float(entry["high"])
