"""From the cells of a table of configurations to typed points, each cell checked; a bad cell fails its row only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, get_args

from commandline.foreign_text import shown
from sizing.base.choices import PublishedMode
from sizing.base.errors import SizingError, nearest_names
from sizing.catalog import Gpu, Model, resolve_gpu, resolve_model
from sizing.catalog.engines import engine_in_a_benchmark, runs_apart
from sizing.catalog.precisions import (
    NamedPrecision,
    Precision,
    gpu_supports,
    named_precision,
    precisions,
    resolve_kv_precision,
)
from sizing.catalog.resolve import ResolvedModel
from sizing.evidence.layouts import InstanceLayout, Instances, closed_loop_layouts, open_layouts, stated_layout
from sizing.evidence.protocols import assumed_variation
from sizing.question.configuration import Configuration
from sizing.scenario.bounds import MAX_CV, MAX_TOKENS
from sizing.steps.efficiency import TODAY

if TYPE_CHECKING:  # a quarter of a second at every start of a process, for those who have a table only
    import pandas as pd


from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from sizing.base.errors import InvalidPoints

if TYPE_CHECKING:  # a quarter of a second at every start of a process, for those who have a table only
    import pandas as pd

OFFLINE: Final = "offline_max_throughput"
CLOSED_LOOP: Final = "fixed_concurrency"
OPEN_LOOP: Final = "fixed_rate"
MODES: tuple[PublishedMode, ...] = get_args(PublishedMode)
REQUIRED = ("model", "gpu", "gpus", "isl", "osl", "mode")
LOADED_MODES = ("static_batch", CLOSED_LOOP)  # with a number of requests at once
WHOLE_RUN_MODES = (OFFLINE, OPEN_LOOP)
"""Modes in which a submitter tunes the layout: without a TP the best one is taken."""

TIMED = (CLOSED_LOOP, OPEN_LOOP)
"""Modes of runs that may end after a time."""

SHORTEST_S = 1e-3  # duration of a run of a cell at least

LOWEST_RPS = 1e-9  # lowest rate of a cell: an open loop has some arrivals

MAX_COUNT = 1e9
"""Largest number of a cell: a larger one is a typing error."""

Cells = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Point:
    """One configuration to predict: one instance, how many of them share the load, the lengths and the protocol.

    ``concurrency``, ``rate_rps`` and ``requests``, how many a run sent, are the whole row's; ``duration_s`` is how long
    it sent any; NaN: not stated.
    ``stated_variation`` is the squared coefficient of variation of the answers, where it was measured.
    ``prefill``: instances that compute its prompts, where the others decode alone; ``open_split``: whether the row
    leaves open how prompts and answers share its GPUs; ``orchestrated``: whether its engine runs under an orchestrator
    of such instances. ``named`` and ``stated_precision`` are what the row's names of
    model and weight format led to.
    """

    row: int
    model: Model
    configuration: Configuration
    instances: float
    input_tokens: float
    output_tokens: float
    cached_tokens: float
    mode: PublishedMode
    concurrency: float
    rate_rps: float
    software_year: float
    requests: float = math.nan
    duration_s: float = math.nan
    stated_variation: float | None = None
    prefill: Instances | None = None
    open_split: bool = False
    orchestrated: bool = False
    named: ResolvedModel | None = None
    stated_precision: NamedPrecision | None = None

    @property
    def gpus(self) -> float:
        """GPUs of all instances."""
        return self.instances * self.configuration.gpus + (self.prefill.gpus if self.prefill else 0.0)

    @property
    def busy(self) -> float:
        """Instances that have requests: of replicas no more than there are in flight, or in a batch."""
        if self.prefill or self.mode not in LOADED_MODES:
            return self.instances
        return min(self.instances, max(self.concurrency, 1.0))

    @property
    def equal_answers(self) -> bool:
        """Whether all answers are taken to be of one length: as stated, else where their mean is a whole number."""
        if self.stated_variation is None:
            return self.output_tokens.is_integer()
        return self.stated_variation == 0.0

    @property
    def output_variation(self) -> float:
        """Squared coefficient of variation of the answers, which bursts alone depend on: as stated, else assumed."""
        if self.mode != OFFLINE or not math.isfinite(self.requests):
            return 0.0
        return assumed_variation(self.output_tokens) if self.stated_variation is None else self.stated_variation


def points_of(frame: pd.DataFrame) -> tuple[list[Point], dict[int, str]]:
    """Points (several per row where the best layout is sought) and the error of every row that has none.

    Raises InvalidPoints when the table lacks a required column.
    """
    demand(REQUIRED, frame.columns)
    points, errors = list[Point](), dict[int, str]()
    for row, cells in enumerate(rows(frame)):
        try:
            points.extend(_points(row, cells))
        except SizingError as error:
            errors[row] = str(error)
    return points, errors


def _points(row: int, cells: Mapping[str, object]) -> list[Point]:
    """The point of one row, or one per possible layout where the table leaves the layout open."""
    mode, name, gpu = _mode(cells), text(cells, "model"), _gpu(text(cells, "gpu"))
    if not name:
        raise BadCell("model is empty")
    named = resolve_model(name)
    engine = _engine(text(cells, "engine"), number_in(cells, "software_year", at_least=2000.0))
    stated = _stated_precision(text(cells, "weight_precision"), named.weight_format)
    precision = stated.precision if stated else _weight_format(named, gpu, _submission(cells, mode))
    isl, osl = _tokens(cells, mode)
    cached = min(number_in(cells, "prefix_cached_tokens") or 0.0, isl - 1.0)
    kv = _kv_precision(text(cells, "kv_precision"), _submission(cells, mode) or engine.narrow_kv, precision, gpu)
    base = Configuration(gpu=gpu, engine=engine, precision=precision, kv_precision=kv)
    year = number_in(cells, "software_year", at_least=2000.0)
    concurrency, rate = _load(cells, mode)
    layouts = _layouts(cells, mode, named.model, base)
    point = Point(
        row=row,
        model=named.model,
        configuration=base,
        instances=1.0,
        open_split=any(each.prefill for each in layouts),
        orchestrated=runs_apart(text(cells, "engine")),
        input_tokens=isl,
        output_tokens=osl,
        cached_tokens=cached,
        mode=mode,
        concurrency=concurrency,
        rate_rps=rate,
        software_year=TODAY if year is None else year,
        requests=_requests(cells, mode),
        duration_s=(number_in(cells, "duration_s", at_least=SHORTEST_S) if mode in TIMED else None) or math.nan,
        stated_variation=number_in(cells, "output_variation", at_most=MAX_CV**2),
        named=named,
        stated_precision=stated,
    )
    return [_laid_out(point, layout) for layout in layouts]


def _laid_out(point: Point, layout: InstanceLayout) -> Point:
    """The point in one of its layouts."""
    served_by = layout.served_by
    return replace(point, configuration=served_by.configuration, instances=served_by.count, prefill=layout.prefill)


def _mode(cells: Mapping[str, object]) -> PublishedMode:
    stated = text(cells, "mode")
    for mode in MODES:
        if mode == stated:
            return mode
    near = nearest_names(stated, MODES, 1)
    hint = f" Did you mean {near[0]}?" if near else f" It must be one of {', '.join(MODES)}."
    raise BadCell(f"Unknown mode “{shown(stated, 60)}”.{hint}" if stated else "mode is empty")


def _tokens(cells: Mapping[str, object], mode: PublishedMode) -> tuple[float, float]:
    """ISL and OSL: an empty OSL of a static batch is a measurement of the first token."""
    isl, first_only = needed(cells, "isl", at_least=1.0), mode == "static_batch" and is_empty(cells.get("osl"))
    osl = 1.0 if first_only else needed(cells, "osl", at_least=1.0)
    if max(isl, osl) > MAX_TOKENS:
        raise BadCell(f"isl and osl must be at most {MAX_TOKENS:,}")
    return isl, osl


def _load(cells: Mapping[str, object], mode: PublishedMode) -> tuple[float, float]:
    """(concurrency or batch, requests/s) as far as the mode uses them, else NaN; an unknown rate means the highest."""
    concurrency = number_in(cells, "concurrency_or_batch", at_least=1.0)
    rate = number_in(cells, "request_rate_rps", at_least=LOWEST_RPS)
    if mode in LOADED_MODES and concurrency is None:
        raise BadCell("concurrency_or_batch is empty")
    return (math.nan if concurrency is None else concurrency), (math.nan if rate is None else rate)


def _requests(cells: Mapping[str, object], mode: PublishedMode) -> float:
    """How many requests a run sent, by either name of the column; NaN where it does not say, or is one batch."""
    if mode == "static_batch":
        return math.nan
    each = (number_in(cells, name, at_least=1.0) for name in ("num_prompts", "requests"))
    return next((number for number in each if number is not None), math.nan)


@cache
def _gpu(name: str) -> Gpu:
    if not name:
        raise BadCell("gpu is empty")
    gpu = resolve_gpu(name)
    if not gpu.sizable:
        raise BadCell(f"{gpu.name} has no published matrix rate, so nothing can be predicted for it")
    return gpu


_engine = cache(engine_in_a_benchmark)


def _submission(cells: Mapping[str, object], mode: PublishedMode) -> bool:
    """Whether the row is a whole system tuned for throughput (MLPerf): all is queued or offered, no layout stated."""
    return mode in WHOLE_RUN_MODES and is_empty(cells.get("tp"))


@lru_cache(maxsize=1024)
def _stated_precision(name: str, own: Precision) -> NamedPrecision | None:
    return named_precision(name).of_weights(own) if name else None


def _weight_format(model: ResolvedModel, gpu: Gpu, submission: bool) -> Precision:
    """The format that no cell states: the checkpoint's own, or the narrowest that the GPU multiplies where a 16-bit
    model was tuned for throughput.

    MLPerf result tables name no format, yet their configurations quantise to FP8 wherever the GPU has it, dense models
    to FP4: Llama 2 70B on a B200 reaches the rate of TensorRT-LLM's own NVFP4 table (3.0 PFLOP/s), Mixtral that of FP8.
    """
    own, known = model.weight_format, precisions()
    if not submission or own.bytes <= known["fp8"].bytes:
        return own
    formats = ("nvfp4", "mxfp4", "fp8") if gpu.supports_fp4 and not model.model.is_moe else ("fp8",)
    return next((known[f] for f in formats if gpu_supports(gpu, known[f])), own)


def _kv_precision(name: str, narrow_kv: bool, precision: Precision, gpu: Gpu) -> str:
    """KV-cache format; empty: 8 bit beside narrow matrix formats where engine or submission keep it so, else 16."""
    if name:
        return resolve_kv_precision(name)
    narrow = narrow_kv and precision.is_narrow and gpu.supports_fp8
    return "fp8" if narrow else "fp16"


def _layouts(
    cells: Mapping[str, object], mode: PublishedMode, model: Model, base: Configuration
) -> list[InstanceLayout]:
    """How the instances of a row may share its GPUs; see :mod:`sizing.evidence.layouts`."""
    gpus = whole(cells, "gpus")
    if gpus is None:
        raise BadCell("gpus is empty")
    tp = whole(cells, "tp")
    pp, dp, ep = (degree(cells, name) for name in ("pp", "dp", "ep"))
    if tp is None and dp > 1 and gpus % (dp * pp) == 0:
        tp = gpus // (dp * pp)
    if tp is None:
        if mode == CLOSED_LOOP and pp == 1:
            return closed_loop_layouts(gpus, ep, model, base, apart=runs_apart(text(cells, "engine")))
        return open_layouts(gpus, pp, ep, model, base, tuned=mode in WHOLE_RUN_MODES)
    if tp * pp > gpus:
        raise BadCell(f"tp {tp} x pp {pp} needs {tp * pp} GPUs, and gpus is {gpus}")
    return [stated_layout(gpus, tp, pp, ep, dp, model, base)]


class BadCell(SizingError):
    """One cell that cannot be used; the message is the row's ``error``."""


def rows(frame: pd.DataFrame) -> Iterator[Cells]:
    """The rows of a table, each by its columns."""
    from pandas import NA

    columns = {str(k): [None if value is NA else value for value in cells.tolist()] for k, cells in frame.items()}
    return (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


def is_empty(value: object) -> bool:
    """Whether a cell says nothing."""
    return math.isnan(value) if isinstance(value, float) else value is None or str(value).strip() == ""


def text(cells: Cells, name: str) -> str:
    """A cell as text without space around it, "" where it is empty."""
    return "" if is_empty(value := cells.get(name)) else str(value).strip()


def number_in(cells: Cells, name: str, *, at_least: float = 0.0, at_most: float = MAX_COUNT) -> float | None:
    """A number between ``at_least`` and ``at_most``, or None where the cell is empty."""
    value = cells.get(name)
    if is_empty(value):
        return None
    try:
        number = value if isinstance(value, float) else float(str(value))
    except ValueError:
        raise BadCell(f"{name} is not a number: “{shown(value)}”") from None
    if not (math.isfinite(number) and at_least <= number <= at_most):
        raise BadCell(f"{name} must be between {at_least:g} and {at_most:g}, not {shown(value)}")
    return number


def needed(cells: Cells, name: str, *, at_least: float) -> float:
    """A number of at least so much; an empty cell is a bad one."""
    number = number_in(cells, name, at_least=at_least)
    if number is None:
        raise BadCell(f"{name} is empty")
    return number


def whole(cells: Cells, name: str) -> int | None:
    """A whole number of at least 1, or None where the cell is empty."""
    number = number_in(cells, name, at_least=1.0)
    if number is not None and number != int(number):
        raise BadCell(f"{name} must be a whole number, not {number:g}")
    return None if number is None else int(number)


def degree(cells: Cells, name: str) -> int:
    """A degree of parallelism; 0 says like an empty cell that there is none of the kind, which is 1."""
    return 1 if number_in(cells, name) == 0 else whole(cells, name) or 1


def demand(required: Sequence[str], names: Collection[str]) -> None:
    """Raises InvalidPoints where a table lacks a required column."""
    missing = [name for name in required if name not in names]
    if missing:
        raise InvalidPoints(f"The table lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}.")
