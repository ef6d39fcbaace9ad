"""Many scenarios at once: a base scenario varied along axes, answered by worker processes or a Dask cluster.

A sweep file is a scenario plus ``axes``: a mapping from dotted scenario keys to the values to try; every combination is
answered. Work is handed out in chunks; a worker that dies takes only its chunk with it, which is handed out again.
"""

import itertools
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from sizing.base.errors import InvalidScenario, SizingError
from sizing.planning.analytic import analytic_plan
from sizing.scenario.file import migrated, parse, problems_of, scenario_from, text_of
from sizing.scenario.schema import Scenario

MAX_SCENARIOS = 1_000_000
"""Scenarios of a sweep at most. Chosen: because they take eleven hours of one core."""
MAX_FILE_BYTES = 20_000_000
"""Size of a sweep file at most: a million values written out."""
CHUNK = 25
"""Scenarios handed to a worker at a time. Chosen: because they are about a second of work, little to lose."""
MAX_ATTEMPTS = 4
"""Times a chunk is handed out before its rows are reported as failed. Chosen: because a worker that dies four times on
the same scenarios dies of them."""

Point = dict[str, Any]
Row = dict[str, Any]
Progress = Callable[[int, int], None]

CONNECT_S = 10
"""Seconds within which a scheduler has to answer."""
RETRIES = 3
"""Times Dask runs a task again whose worker died: as often as local processes do (:data:`sweep.MAX_ATTEMPTS`)."""


def read_sweep(path: Path) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Base scenario and axes of a sweep file. Raises InvalidScenario."""
    raw = parse(text_of(path, MAX_FILE_BYTES, "a sweep file"), path.name)
    axes = raw.pop("axes", None)
    if not isinstance(axes, dict) or not axes:
        raise InvalidScenario(
            [
                "axes: is required: a mapping from scenario keys to lists of values, such as "
                "{workload.peak_rps: [10, 20]}."
            ]
        )
    wrong = [
        f"axes.{k}: must be a list with at least one value."
        for k, v in axes.items()
        if not isinstance(v, list) or not v
    ]
    if wrong:
        raise InvalidScenario(wrong)
    return raw, {str(k): list(v) for k, v in axes.items()}


def points(axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Every combination of the axes' values, the last axis varying fastest. Raises InvalidScenario beyond a million."""
    total = 1
    for values in axes.values():
        total *= len(values)
    if total > MAX_SCENARIOS:
        raise InvalidScenario([f"axes: {total:,} combinations; at most {MAX_SCENARIOS:,} are answered in one sweep."])
    return [dict(zip(axes, combination, strict=True)) for combination in itertools.product(*axes.values())]


def sweep(
    base: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]],
    executor_of: Callable[[], Executor],
    progress: Progress | None = None,
) -> pd.DataFrame:
    """One row per combination, in order: the axes' values, the answer's figures, and ``error`` where there is none.

    ``executor_of`` makes an executor of the ``concurrent.futures`` interface; it is called again when a worker process
    died and broke the pool.
    """
    combinations = points(axes)
    _check_first(base, combinations[0])
    chunks = {i: combinations[i : i + CHUNK] for i in range(0, len(combinations), CHUNK)}
    done: dict[int, list[Row]] = {}
    for _ in range(MAX_ATTEMPTS):
        waiting = {i: chunk for i, chunk in chunks.items() if i not in done}
        if not waiting:
            break
        with executor_of() as executor:
            for start, rows in _run(executor, base, waiting):
                done[start] = rows
                if progress is not None:
                    progress(sum(map(len, done.values())), len(combinations))
    lost = [
        dict(p) | {"error": "its worker process died repeatedly"} for i, c in chunks.items() if i not in done for p in c
    ]
    return pd.DataFrame([row for i in sorted(done) for row in done[i]] + lost)


def _check_first(base: Mapping[str, Any], point: Point) -> None:
    """An unknown key in the base or an axis is a mistake of the whole sweep, not of one row."""
    try:
        Scenario.model_validate(migrated(with_values(base, point)))
    except InvalidScenario:
        return  # a fault of a value: the rows that have it say so
    except ValidationError as error:
        problems = problems_of(error, of_keys=True)
        if problems:
            raise InvalidScenario(problems) from None


def _run(
    executor: Executor, base: Mapping[str, Any], chunks: Mapping[int, Sequence[Point]]
) -> Iterator[tuple[int, list[Row]]]:
    """Finished chunks as they come; the chunks of a broken pool or a lost worker are simply not among them."""
    try:
        futures: dict[Future[list[Row]], int] = {
            executor.submit(answer_chunk, dict(base), list(chunk)): start for start, chunk in chunks.items()
        }
    except BrokenProcessPool:
        return
    for future in as_completed(futures):
        error = future.exception()
        if error is None:
            yield futures[future], future.result()
        elif isinstance(error, TypeError | NameError | AttributeError):
            raise error  # a bug, not a lost worker


def answer_chunk(base: Mapping[str, Any], chunk: Sequence[Point]) -> list[Row]:
    """The rows of one chunk; runs in a worker."""
    return [dict(point) | _answer(base, point) for point in chunk]


def _answer(base: Mapping[str, Any], point: Point) -> Row:
    """The figures of one plan, or why there is none."""
    try:
        plan = analytic_plan(scenario_from(with_values(base, point)), alternatives=0)
    except SizingError as error:
        return {"feasible": False, "error": " ".join(str(error).split())}
    row: Row = {"feasible": plan.feasible, "answer": plan.answer, "error": ""}
    if plan.deployment is not None and plan.latency is not None and plan.cost is not None:
        row |= plan.deployment.model_dump()
        row |= {"gpus_low": plan.gpus_low, "gpus_high": plan.gpus_high, "limited_by": plan.limited_by}
        row |= {f"{name}_asked": getattr(plan.latency, name).at_percentile for name in ("ttft_ms", "itl_ms", "e2e_ms")}
        row |= {
            "usd_per_month": plan.cost.hardware_usd_per_month,
            "power_kw": plan.cost.power_kw,
            "source": plan.source,
        }
        row["decided_by"] = plan.decided_by
    return row


def with_values(base: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """The base scenario with the dotted keys of ``point`` set; sections that are missing are made."""
    out = dict(base)
    for dotted, value in point.items():
        *sections, key = dotted.split(".")
        inside = out
        for name in sections:
            below = inside.get(name)
            inside[name] = dict(below) if isinstance(below, dict) else {}
            inside = inside[name]
        inside[key] = value
    return out


def processes(workers: int) -> Callable[[], Executor]:
    """Executors of ``workers`` local processes, started fresh so that no state of this process leaks into them.

    Ctrl-C reaches every process of a terminal; the workers die of it in silence, this process says what has happened.
    """
    return lambda: ProcessPoolExecutor(
        max_workers=workers,
        mp_context=get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_DFL),
    )


@contextmanager
def dask_executors(address: str) -> Iterator[Callable[[], Executor]]:
    """Executors on the Dask scheduler at ``address`` (tcp://host:port), connected while the context is open.

    Raises SizingError when Dask is not installed or the scheduler does not answer.
    """
    try:
        from distributed import Client
    except ImportError:
        raise SizingError("A scheduler address needs Dask: pip install -r requirements-scale.txt.") from None
    try:
        client: Any = Client(address, timeout=CONNECT_S)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError):
        raise SizingError(
            f"No Dask scheduler answers at {address}: check the address, such as tcp://host:8786."
        ) from None
    try:
        yield lambda: client.get_executor(retries=RETRIES, pure=False)
    finally:
        client.close()
