"""Whatever the bytes: a result, or BenchmarkFileError. And: units, order and damage."""

import json
import math
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.benchmarks import (
    BenchmarkFileError,
    BenchmarkRun,
    Imported,
    LatencyStats,
    curves,
    read_benchmark,
    read_benchmarks,
    to_measurements,
)

SAMPLES = Path(__file__).parent / "samples"
NAMES = sorted(
    path.relative_to(SAMPLES).as_posix()
    for path in SAMPLES.rglob("*")
    if path.is_file() and path.name not in ("README.md", "golden.json") and path.stat().st_size < 40_000
)
JSON_NAMES = [name for name in NAMES if name.endswith(".json")]

odd_numbers = st.one_of(st.integers(), st.floats(), st.just(10**400), st.just(float("inf")))
leaves = st.one_of(st.none(), st.booleans(), odd_numbers, st.text(max_size=8))


def containers(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)


values = st.recursive(leaves, containers, max_leaves=8)


def numbers_of(imported: Imported) -> list[float]:
    """Every number of every point."""
    found: list[float] = []
    for point in imported.points:
        for item in fields(BenchmarkRun):
            value = getattr(point, item.name)
            stats = isinstance(value, LatencyStats)
            parts = [value.mean, *value.percentiles.values()] if stats else [value]
            found += [part for part in parts if isinstance(part, int | float)]
    return found


def assert_sound(data: bytes, name: str) -> None:
    try:
        imported = read_benchmark(data, name)
    except BenchmarkFileError as error:
        sentence = str(error)
    else:
        assert_consistent(imported)
        return
    assert "\n" not in sentence
    assert len(sentence) < 400


def assert_consistent(imported: Imported) -> None:
    assert imported.points or imported.errors
    assert all(math.isfinite(number) and number >= 0 for number in numbers_of(imported))
    assert all(point.requests_completed != 0 for point in imported.points)
    to_measurements(imported.points)


def paths_of(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """The way to every part of a JSON value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value[:5]) if isinstance(value, list) else ()
    for key, item in items:
        found += paths_of(item, (*path, key))
    return found


def put(value: object, path: tuple[object, ...], new: object) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new


@given(data=st.binary(max_size=200), suffix=st.sampled_from([".json", ".jsonl", ".csv", ".yaml", ".txt", ""]))
def test_any_bytes(data: bytes, suffix: str) -> None:
    assert_sound(data, f"x{suffix}")


@given(value=values)
def test_any_json(value: object) -> None:
    assert_sound(json.dumps(value).encode(), "x.json")
    assert_sound(json.dumps(value, indent=1).encode(), "x.yaml")


@given(text=st.text(alphabet="abc-_:,;[]{}&*!|>'\"# \n\t0123.%@~", max_size=80))
def test_any_yaml(text: str) -> None:
    assert_sound(b"benchmarks:\n" + text.encode(), "x.yaml")


@settings(max_examples=300)
@given(name=st.sampled_from(JSON_NAMES), value=values, data=st.data())
def test_any_value_anywhere_in_a_real_file(name: str, value: object, data: st.DataObject) -> None:
    document = json.loads((SAMPLES / name).read_text())
    put(document, data.draw(st.sampled_from(paths_of(document))), value)
    assert_sound(json.dumps(document).encode(), name)


@settings(max_examples=200)
@given(name=st.sampled_from(NAMES), data=st.data())
def test_damaged_real_file(name: str, data: st.DataObject) -> None:
    """Cut off, or with some bytes replaced."""
    whole = (SAMPLES / name).read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 50)))
    assert_sound(whole[:start], name)
    assert_sound(whole[:start] + data.draw(st.binary(max_size=20)) + whole[end:], name)


@given(files=st.lists(st.tuples(st.sampled_from(["a.json", "b/c.csv", "d.zip"]), st.binary(max_size=60)), max_size=4))
def test_any_files(files: list[tuple[str, bytes]]) -> None:
    files = [(name, b"PK\x03\x04" + data if name.endswith(".zip") else data) for name, data in files]
    try:
        imported = read_benchmarks(files)
    except BenchmarkFileError:
        assert files == []
        return
    assert len(imported.errors) >= len(files) - len(imported.points)


@given(order=st.permutations([2, 4, 6, 8, 10, 12]))
def test_curve_does_not_depend_on_the_order_of_files(order: list[int]) -> None:
    files = [(f"{rate}.json", (SAMPLES / f"vllm/bench_rate{rate}.json").read_bytes()) for rate in order]
    (curve,) = curves(read_benchmarks(files).points)
    assert [point.request_rate_rps for point in curve] == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]


@given(seconds=st.floats(1e-6, 1e4), rows=st.lists(st.booleans(), min_size=1, max_size=6))
def test_seconds_become_milliseconds_and_bad_rows_never_lose_good_ones(seconds: float, rows: list[bool]) -> None:
    row = {"hw": "h100", "conc": 1, "tp": 1, "tput_per_gpu": 1.0, "mean_ttft": seconds}
    table = [row if good else row | {"mean_ttft": "soon"} for good in rows]
    imported = read_benchmark(json.dumps(table).encode(), "agg_bmk.json")
    assert [point.row for point in imported.points] == [i for i, good in enumerate(rows, 1) if good]
    assert [error.row for error in imported.errors] == [i for i, good in enumerate(rows, 1) if not good]
    assert all(point.ttft_ms.mean == pytest.approx(seconds * 1e3) for point in imported.points)
