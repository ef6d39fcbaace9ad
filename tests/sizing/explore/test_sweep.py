"""Sweeps: every combination once and in order, equal to single plans, and nothing lost when a worker dies."""

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sizing.base.errors import InvalidScenario, SizingError
from sizing.explore import sweep as module
from sizing.explore.sweep import points, processes, read_sweep, sweep, with_values
from sizing.planning.analytic import analytic_plan
from sizing.scenario.file import scenario_from
from tests.commands import run

BASE: dict[str, Any] = {
    "model": "meta-llama/Meta-Llama-3-8B",
    "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 1},
    "deployment": {"gpus": ["h100_sxm"], "engines": ["vllm"]},
}
AXES: dict[str, list[Any]] = {"workload.peak_rps": list(range(1, 11)), "workload.input_tokens": [500, 2000]}


@pytest.fixture(autouse=True)
def several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few combinations are several chunks, too."""
    monkeypatch.setattr(module, "CHUNK", 6)


def in_this_process() -> Executor:
    """Answers here, where the engine is loaded: a process that loads it takes seconds."""
    return ThreadPoolExecutor(max_workers=1)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """The answers to all combinations, from this process."""
    return sweep(BASE, AXES, in_this_process)


def test_every_combination_is_answered_once_and_in_order(table: pd.DataFrame) -> None:
    found = sweep(BASE, AXES, processes(2))
    pd.testing.assert_frame_equal(found, table)
    expected = points(AXES)
    assert len(found) == 20
    assert found[list(AXES)].to_dict("records") == expected
    assert (found["error"] == "").all()


def test_rows_equal_single_plans() -> None:
    found = sweep(BASE, {"workload.peak_rps": [7, 90]}, in_this_process)
    for row in found.to_dict("records"):
        one = analytic_plan(scenario_from(with_values(BASE, {"workload.peak_rps": row["workload.peak_rps"]})))
        assert (row["answer"], row["gpus"]) == (one.answer, one.deployment.gpus)


def test_a_bad_value_is_an_error_in_its_row_only() -> None:
    found = sweep(BASE, {"workload.peak_rps": [1, -5, 2]}, in_this_process)
    assert list(found["error"] != "") == [False, True, False]
    assert "greater than 0" in found["error"][1]


def test_an_unknown_key_is_an_error_of_the_sweep() -> None:
    with pytest.raises(InvalidScenario, match="unknown key"):
        sweep(BASE, {"workload.peek_rps": [1]}, in_this_process)


def _dies_once(marker: str, base: dict[str, Any], chunk: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A worker that kills itself the first time it sees work."""
    if not os.path.exists(marker):
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return module.answer_chunk(base, chunk)


class _Fragile(ProcessPoolExecutor):
    """A pool whose first worker dies mid-work."""

    marker = ""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return super().submit(_dies_once, self.marker, *args, **kwargs)


def test_a_worker_that_dies_loses_nothing(tmp_path: Path, table: pd.DataFrame) -> None:
    _Fragile.marker = str(tmp_path / "died")

    def fragile() -> Executor:
        return _Fragile(max_workers=2)

    found = sweep(BASE, AXES, fragile)
    assert (tmp_path / "died").exists()
    pd.testing.assert_frame_equal(found, table)


def test_workers_die_of_ctrl_c_in_silence() -> None:
    """A KeyboardInterrupt in a worker would be a traceback beside the exit code of the command."""
    with processes(1)() as executor:
        assert executor.submit(signal.getsignal, signal.SIGINT).result() == signal.SIG_DFL


def test_too_many_combinations_are_refused() -> None:
    with pytest.raises(InvalidScenario, match="at most"):
        points({"a": range(2000), "b": range(2000)})


@pytest.mark.parametrize("text", ["", "[]", "model: x", "axes: 3", "axes: {workload.peak_rps: []}", "axes: {a: 5}"])
def test_malformed_sweep_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    with pytest.raises(InvalidScenario):
        read_sweep(path)


def test_command_line_writes_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(module, "processes", lambda workers: asked.append(workers) or in_this_process)
    path, out = tmp_path / "sweep.yaml", tmp_path / "out.csv"
    path.write_text(f"{BASE | {'axes': {'workload.peak_rps': [1, 2]}}}".replace("'", '"'))
    done = run("sizing", "sweep", path, "--out", out, "--workers", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert (len(pd.read_csv(out)), asked) == (2, [1])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A real Dask cluster of two worker processes on this machine."""
    distributed = pytest.importorskip("distributed", reason="needs requirements-scale.txt")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        yield local


@pytest.mark.slow
def test_a_dask_cluster_answers_the_same(cluster: Any, table: pd.DataFrame) -> None:
    from sizing.explore.sweep import dask_executors

    with dask_executors(cluster.scheduler_address) as executors:
        found = sweep(BASE, AXES, executors)
    pd.testing.assert_frame_equal(found, table)


def test_an_address_without_scheduler_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="needs requirements-scale.txt")
    from sizing.explore import sweep

    monkeypatch.setattr(sweep, "CONNECT_S", 1)
    with pytest.raises(SizingError, match="No Dask scheduler"), sweep.dask_executors("tcp://127.0.0.1:9"):
        pass
