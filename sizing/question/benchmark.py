"""The benchmark that a scenario brings along, with its names resolved."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from sizing.base.errors import InvalidBenchmark, SizingError
from sizing.base.format import memory
from sizing.base.units import GB
from sizing.catalog import resolve_gpu, resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.catalog.precisions import gpu_supports, resolve_kv_precision, resolve_precision
from sizing.catalog.weights import on_fullest_gpu, weight_parts
from sizing.question.configuration import Configuration
from sizing.scenario.schema import Benchmark

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class ResolvedBenchmark:
    """A benchmark of ``model`` on ``configuration``; ``gpus`` served its load together, in whole instances."""

    given: Benchmark
    model: Model
    configuration: Configuration
    gpus: int

    @property
    def instances(self) -> int:
        """Instances that served the load together."""
        return self.gpus // self.configuration.gpus


def resolve_benchmark(benchmark: Benchmark, model: Model, custom: tuple[Gpu, ...] = ()) -> ResolvedBenchmark:
    """A benchmark of ``model``, on a GPU of the catalogue or one of the scenario's ``custom`` ones.

    The same object for the same benchmark, so that what is computed from it is kept. Raises InvalidBenchmark with one
    sentence per unknown name, and for what cannot have run.
    """
    return _resolved(benchmark.model_dump_json(), model, custom)


@lru_cache(maxsize=64)
def _resolved(benchmark_json: str, model: Model, custom: tuple[Gpu, ...]) -> ResolvedBenchmark:
    benchmark = Benchmark.model_validate_json(benchmark_json)
    configuration = measured_configuration(benchmark, custom)
    gpus = benchmark.gpus or configuration.gpus
    _check_possible(configuration, gpus, model)
    return ResolvedBenchmark(given=benchmark, model=model, configuration=configuration, gpus=gpus)


def _check_possible(row: Configuration, gpus: int, model: Model) -> None:
    """Raises InvalidBenchmark for what cannot have run: half an instance, or weights larger than memory."""
    if gpus % row.gpus:
        raise InvalidBenchmark({"gpus": f"{gpus} GPUs are no whole number of instances of {row.gpus} (TP x PP x DP)."})
    weights = float(on_fullest_gpu(weight_parts(model, row.precision), model, row.tp, row.pp, row.dp, row.ep))
    if weights > row.gpu.memory_bytes:
        needed, whole = (memory(size / GB, row.gpu.memory_bytes / GB) for size in (weights, row.gpu.memory_bytes))
        raise InvalidBenchmark(
            {
                "tp": f"{model.id} in {row.precision.label} with {row.parallelism} needs "
                f"{needed} per GPU, and {row.gpu.name} has {whole}: this cannot have run."
            }
        )


def measured_configuration(benchmark: Benchmark, custom: tuple[Gpu, ...] = ()) -> Configuration:
    """What one instance of the benchmark ran on. Raises InvalidBenchmark with one sentence per unknown name."""
    problems: dict[str, str] = {}

    def named(key: str, resolve: Callable[[str], T], name: str | None) -> T | None:
        try:
            return resolve(name) if name is not None else None
        except SizingError as error:
            problems[key] = str(error)
            return None

    own = {g.id: g for g in custom}
    gpu = named("gpu", lambda name: own.get(name) or resolve_gpu(name), benchmark.gpu)
    engine = named("engine", resolve_engine, benchmark.engine)
    precision = named("weight_precision", resolve_precision, benchmark.weight_precision)
    kv = named("kv_precision", resolve_kv_precision, benchmark.kv_precision)
    if gpu is None or engine is None or precision is None or problems:
        raise InvalidBenchmark(problems)
    if not gpu.sizable or not gpu_supports(gpu, precision):
        raise InvalidBenchmark({"weight_precision": f"{gpu.name} does not run {precision.label}."})
    narrow = gpu.supports_fp8 and precision.is_narrow
    return Configuration(
        gpu=gpu,
        engine=engine,
        precision=precision,
        kv_precision=kv or ("fp8" if narrow else "fp16"),
        tp=benchmark.tp,
        pp=benchmark.pp,
        ep=benchmark.ep,
        dp=benchmark.dp,
    )


def is_of_model(benchmark: Benchmark, model: Model) -> bool:
    """Whether the benchmark ran ``model``; one that names no model ran that of the scenario."""
    if benchmark.model is None or benchmark.model == model.id:
        return True
    try:
        return resolve_model(benchmark.model).model.id == model.id
    except SizingError:
        return False
