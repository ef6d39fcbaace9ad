"""The evidence library: published measurements that ship with the product, and the ones nearest to a configuration.

``data/evidence.csv.gz`` holds 10,235 rows, each with its source (licences and traps: ``docs/ACCURACY.md``). Lengths
are the mean lengths actually sent: 0.9 x nominal where a source draws them from [0.8, 1] x nominal.
"""

import gzip
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from sizing.base.arrays import Floats
from sizing.catalog import Gpu, Model
from sizing.catalog.files import DATA_DIR
from sizing.evidence.cases import case_of
from sizing.evidence.points import Point, points_of
from sizing.question.configuration import Configuration

EVIDENCE_FILE = "evidence.csv.gz"
RANDOM_LENGTH_SOURCES = ("inferencemax", "aic_silicon_inferencex", "inferencex_snapshot")
MEAN_OF_RANDOM_LENGTHS = 0.9
"""Mean of a uniform draw from [0.8, 1] (InferenceMAX's ``random_range_ratio`` of 0.8)."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One published measurement. Latencies in ms, rates per second of all GPUs of the row; None: not in the source.

    ``itl_ms`` is TPOT, (E2E - TTFT) / (OSL - 1), for most sources. ``quality`` is ``good`` or ``caution``.
    """

    row: int
    quality: str
    source: str
    source_link: str
    source_date: str
    model: Model
    configuration: Configuration
    software_year: float
    engine_version: str
    gpus: int
    input_tokens: float
    output_tokens: float
    mode: str
    concurrency: float | None
    rate_rps: float | None
    ttft_ms: float | None
    ttft_ms_p50: float | None
    ttft_ms_p99: float | None
    itl_ms: float | None
    itl_ms_p50: float | None
    itl_ms_p99: float | None
    e2e_ms: float | None
    output_tokens_per_s: float | None
    requests_per_s: float | None
    notes: str


@dataclass(frozen=True, kw_only=True)
class Near:
    """A measurement and how far it is from what was asked: 0 the same, 1 about a doubling of one quantity."""

    measurement: Measurement
    distance: float


@cache
def evidence_frame() -> pd.DataFrame:
    """The library as a table with the columns of the source file, lengths as sent. Do not change it in place."""
    with gzip.open(DATA_DIR / EVIDENCE_FILE, "rb") as handle:
        return with_lengths_as_sent(pd.read_csv(handle, low_memory=False))


def with_lengths_as_sent(frame: pd.DataFrame) -> pd.DataFrame:
    """Measurements with the mean lengths that were sent, where their source states the ends of a random draw."""
    drawn = frame["source"].isin(RANDOM_LENGTH_SOURCES).to_numpy()
    share = np.where(drawn, MEAN_OF_RANDOM_LENGTHS, 1.0)
    return frame.assign(**{name: pd.to_numeric(frame[name], errors="coerce") * share for name in ("isl", "osl")})


@cache
def evidence() -> tuple[Measurement, ...]:
    """Every measurement that can be resolved, in file order; rows without a prompt length are left out."""
    frame = evidence_frame()
    points, _ = points_of(frame)
    first: dict[int, Point] = {}
    for point in points:
        first.setdefault(point.row, point)
    names = [str(c) for c in frame.columns]
    cells = list(frame.itertuples(index=False, name=None))
    return tuple(_measurement(i, point, dict(zip(names, cells[i], strict=True))) for i, point in first.items())


def _measurement(index: int, point: Point, cells: Mapping[str, object]) -> Measurement:
    def number(name: str) -> float | None:
        value = float(str(cells[name]))
        return None if math.isnan(value) else value

    def text(name: str) -> str:
        value = cells[name]
        return "" if isinstance(value, float) and math.isnan(value) else str(value)

    means = ("ttft_ms", "itl_ms", "e2e_ms")
    others = ("ttft_ms_p50", "ttft_ms_p99", "itl_ms_p50", "itl_ms_p99", "output_tokens_per_s", "requests_per_s")
    of_point = ("model", "configuration", "software_year", "input_tokens", "output_tokens", "mode")
    values: dict[str, Any] = {name: getattr(point, name) for name in of_point}
    values |= {name: text(name) for name in ("quality", "source", "engine_version", "notes")}
    values |= {name: number(f"{name}_mean") for name in means} | {name: number(name) for name in others}
    return Measurement(
        row=index,
        source_link=text("source_url_or_repo_path"),
        source_date=text("source_date_or_version"),
        gpus=int(str(cells["gpus"])),
        concurrency=number("concurrency_or_batch"),
        rate_rps=number("request_rate_rps"),
        **values,
    )


GPU_STEP, ENGINE_STEP, CAUTION_STEP = 0.5, 0.5, 0.5
"""Distance of another GPU of the generation, of another engine, and of a row to be taken with caution. Chosen: because
each matters about as much as half a doubling of the size."""

GENERATION_STEP, KIND_STEP = 2.0, 2.0
"""Distance of another generation of GPUs, and of dense against MoE. Chosen: because another generation or kind of model
says less than a quarter or four times the size."""

LEAST_NUMBER = 1e-9
"""Number whose logarithm stands for that of 0."""

WEIGHTS = np.array([1.0, 1.0, 1.0, 0.5, 0.7, 0.4, 0.4])
"""Weight of a doubling on each numeric axis: parameters total and active, bytes per parameter, GPUs, concurrency, ISL,
OSL. Chosen: because step times follow the first three in proportion, and the others less."""


@dataclass(frozen=True)
class _Axes:
    """The library as columns to measure distances in: numeric axes as logarithms to base 2, names as arrays."""

    numbers: Floats
    gpu: np.ndarray
    generation: np.ndarray
    engine: np.ndarray
    moe: np.ndarray
    caution: np.ndarray


@cache
def _axes() -> _Axes:
    rows = evidence()
    numbers = [_numbers(m.model, m.configuration, m.concurrency, m.input_tokens, m.output_tokens) for m in rows]
    return _Axes(
        numbers=np.array(numbers),
        gpu=np.array([m.configuration.gpu.id for m in rows]),
        generation=np.array([m.configuration.gpu.generation for m in rows]),
        engine=np.array([m.configuration.engine.surrogate for m in rows]),
        moe=np.array([m.model.is_moe for m in rows]),
        caution=np.array([m.quality != "good" for m in rows]),
    )


def _numbers(
    model: Model, configuration: Configuration, concurrency: float | None, isl: float | None, osl: float | None
) -> Sequence[float]:
    values = (
        model.params_total,
        model.params_active,
        configuration.precision.bytes,
        float(configuration.gpus),
        concurrency,
        isl,
        osl,
    )
    return [math.nan if v is None else math.log2(max(v, LEAST_NUMBER)) for v in values]


def load_distance(
    measured: Measurement, concurrency: float | None, input_tokens: float | None, output_tokens: float | None
) -> float:
    """The distance of :func:`nearest` for a measurement of the very configuration: by load per instance and lengths."""
    row, load = measured.configuration, measured.concurrency
    per_instance = None if load is None else load * row.gpus / measured.gpus
    own = np.array(_numbers(measured.model, row, per_instance, measured.input_tokens, measured.output_tokens))
    other = np.array(_numbers(measured.model, row, concurrency, input_tokens, output_tokens))
    return float(np.nan_to_num(np.abs(own - other)) @ WEIGHTS)


def nearest(
    model: Model,
    configuration: Configuration,
    *,
    concurrency: float | None = None,
    input_tokens: float | None = None,
    output_tokens: float | None = None,
    count: int = 5,
) -> tuple[Near, ...]:
    """The measured rows nearest to a configuration, nearest first; lengths and concurrency count where they are given.

    distance = sum of weights x |log2 ratio| over model size, precision, GPUs, concurrency and lengths, plus steps for
    another GPU, GPU generation, engine, architecture kind (dense or MoE) and for rows to be taken with caution.
    """
    axes = _axes()
    wanted = np.array(_numbers(model, configuration, concurrency, input_tokens, output_tokens))
    apart = np.nan_to_num(np.abs(axes.numbers - wanted)) @ WEIGHTS
    gpu: Gpu = configuration.gpu
    relative = np.where(axes.generation == gpu.generation, GPU_STEP, GENERATION_STEP)
    apart += np.where(axes.gpu == gpu.id, 0.0, relative)
    apart += ENGINE_STEP * (axes.engine != configuration.engine.surrogate) + KIND_STEP * (axes.moe != model.is_moe)
    apart += CAUTION_STEP * axes.caution
    order = np.argsort(apart, kind="stable")[:count]
    rows = evidence()
    return tuple(Near(measurement=rows[i], distance=float(apart[i])) for i in order)


def measurements_alike(model: Model, configuration: Configuration) -> tuple[Measurement, ...]:
    """The rows whose being near makes the interval of a configuration narrower, in file order: as near as there are any
    (:data:`sizing.evidence.cases.Nearness`). An engine that borrows another's step times has none of its own."""
    wanted = case_of(model, configuration)
    if wanted.near == "none":
        return ()
    cases = ((m, case_of(m.model, m.configuration)) for m in evidence())
    return tuple(m for m, case in cases if case.alike(wanted))
