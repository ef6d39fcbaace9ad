"""``python -m calibration.distil_steps``: NVIDIA's kernel tables put to the catalogue's models: ``kernel_times.npz``.

Mixtures of experts alone: of dense models the tables say nothing that the roofline does not know
(``docs/ACCURACY.md``). The tables take a second a GPU and engine to load and a twentieth of one for each layout, too
long for a page; what they say of a shape is a smooth function of batch and context, which a few numbers hold. Shapes
that the file has already are kept, so that a new model takes seconds; ``--anew`` reads all. Needs
``aiconfigurator-core``.

Their semantics, read in release 0.12: ``decode_step_latency(b, isl, osl)`` times one step of b sequences *per
attention-DP rank* at a context of ``isl + osl // 2 + 1`` tokens, in milliseconds.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from typing import Any

import numpy as np

from calibration.kernel_configs import checkpoint
from calibration.kernel_engines import EXPECTED, StepTable, available, compiled
from calibration.kernel_names import missing
from sizing.base.arrays import Floats
from sizing.base.units import S_PER_MS
from sizing.catalog.engines import engines
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.model import Model
from sizing.catalog.model_rows import models
from sizing.deployments.candidates import enumerate_for, table
from sizing.deployments.memory import memory_fit
from sizing.question.configuration import Allowed, Configuration
from sizing.steps.kernel_times import CONTEXTS, FILE, LAYOUTS, SEQUENCES, encoded, layout_key, measured_as, shape_key

PROCESSES = 2
GIVEN_UP = 3
"""Layouts of a GPU, engine and formats that the tables refuse before the others are not tried. Chosen: because of a
model whose experts were not measured each takes seconds to refuse."""
Arrays = dict[str, np.ndarray[Any, Any]]

KNOTS = np.array([1, 2, 3, *(k * 2**n for n in range(2, 11) for k in (1, 1.5)), 2048, 4096], dtype=np.float64)
"""Sequences per rank at which decoding is read: every size that MoE kernels tell apart, then two per doubling."""


def shapes() -> Mapping[str, Model]:
    """One model of every shape of a mixture of experts in the catalogue that the tables may cover."""
    first: dict[str, Model] = {}
    for model in models().values():
        if model.is_moe and (checkpoint(model, "bf16") or checkpoint(model, "nvfp4")):
            first.setdefault(shape_key(model), model)
    return first


FORMATS = ("bf16", "fp8", "nvfp4", "mxfp4")
"""Weight formats that are read beside the one a model is published in: those that published benchmarks have."""


def layouts(model: Model) -> Iterator[Configuration]:
    """Every layout of a model on the GPUs and engines of the tables whose weights the GPUs hold, with the KV cache in
    16 bit, or in FP8 beside narrow weights."""
    own = {engine.kernel_tables: engine.id for engine in reversed(list(engines().values())) if engine.kernel_tables}
    formats, degrees = {*FORMATS, measured_as(model.published_format.id)}, tuple(int(n) for n in LAYOUTS)
    for gpu in gpus().values():
        if not gpu.kernel_tables:
            continue
        allowed = Allowed(engines=tuple(own.values()), kv_precisions=("fp16", "fp8"), tp=degrees, pp=(1,))
        rows = [row for row in enumerate_for(model, gpu, allowed) if row.precision.id in formats and not missing(row)]
        rows = [row for row in rows if row.kv_precision == "fp16" or row.precision.is_narrow]
        rows = [row for row in rows if {row.ep, row.dp} <= {*degrees}]  # wider ranks are outside the tables
        if rows:
            fit = memory_fit(model, table(rows), 0.0)
            yield from (row for row, fits in zip(rows, fit.weights <= fit.capacity, strict=True) if fits)


def read(model: Model) -> Arrays:
    """What the tables say of every layout of a model: rows of times, equal ones once, and which layout has which."""
    names: list[str] = []
    rows: list[int] = []
    kept: dict[tuple[float, ...], int] = {}
    refused: Counter[tuple[str, ...]] = Counter()
    answered: set[tuple[str, ...]] = set()
    for row in layouts(model):
        unit = layout_key(row)
        if refused[unit] == GIVEN_UP and unit not in answered:
            continue
        values = _values(model, row)
        if values is None:
            refused[unit] = min(refused[unit] + 1, GIVEN_UP)
            continue
        answered.add(unit)
        names.append(" ".join((*layout_key(row), str(row.tp), str(row.ep), str(row.dp))))
        rows.append(kept.setdefault(tuple(values), len(kept)))
    width = len(CONTEXTS) * len(SEQUENCES)
    every = np.array(list(kept)).reshape(len(kept), width)
    return {"layouts": np.array(names), "rows": np.array(rows, dtype=np.uint16), "values": encoded(every)}


def _values(model: Model, row: Configuration) -> Floats | None:
    """Decode steps at every context and batch in seconds; None where the tables do not have them."""
    steps = compiled(model, row)
    if isinstance(steps, str):
        return None
    try:
        values = _read(steps, row)
    except EXPECTED:
        return None
    return values if np.isfinite(values).all() and (values > 0).all() else None


def _read(steps: StepTable, row: Configuration) -> Floats:
    return np.concatenate([decode_s(steps, SEQUENCES, context) for context in CONTEXTS])


def read_new(*, anew: bool = False) -> None:
    """Put what is not in the file yet to the tables, or everything, and write it. Raises RuntimeError without them."""
    arrays: Arrays = {} if anew or not FILE.exists() else dict(np.load(FILE))
    wanted = shapes()
    kept = {name: values for name, values in arrays.items() if name.partition(".")[0] in wanted}
    new = {key: model for key, model in wanted.items() if f"{key}.values" not in kept}
    if not new:
        return
    if not available():
        raise RuntimeError("The kernel tables are needed: install requirements-calibrate.txt.")
    with ProcessPoolExecutor(PROCESSES) as pool:
        for (key, model), read_of in zip(new.items(), pool.map(read, new.values()), strict=True):
            print(f"{model.id}: {len(read_of['layouts'])} layouts", flush=True)
            kept |= {f"{key}.{name}": values for name, values in read_of.items()}
            _write(kept)  # what was read is kept if a later one fails


def _write(arrays: Arrays) -> None:
    """The file with these arrays and the release that they were read from."""
    every: Any = {"release": np.array(version("aiconfigurator-core")), **dict(sorted(arrays.items()))}
    np.savez_compressed(FILE, **every)


def main() -> int:
    """Read what is not in the file yet, and write it. Exit code 2 without the tables."""
    parser = argparse.ArgumentParser(prog="python -m calibration.distil_steps", description=__doc__)
    parser.add_argument("--anew", action="store_true", help="read every shape, also those in the file")
    try:
        read_new(anew=parser.parse_args().anew)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def decode_s(table: StepTable, sequences: Floats, context: float) -> Floats:
    """Time of one decode step in seconds for ``sequences`` per rank, shape (K,), each among ``KNOTS``.

    No batch takes longer than a larger one, to which an engine could pad it: this levels kernels that were measured
    slower at a small batch.
    """
    tokens = max(round(context) - 1, 1)  # the package adds osl // 2 + 1 with osl = 1
    read = np.array([table.decode_step_latency(int(b), tokens, 1) for b in KNOTS]) * S_PER_MS
    return np.asarray(np.minimum.accumulate(read[::-1])[::-1][np.searchsorted(KNOTS, sequences)], dtype=np.float64)


if __name__ == "__main__":
    sys.exit(main())
