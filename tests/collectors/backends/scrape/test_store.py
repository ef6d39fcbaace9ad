"""The ring: bounded by age and size, honest about failures and restarts."""

import random
from pathlib import Path

import pytest

from collectors.backends.scrape.promql import evaluate, parse
from collectors.backends.scrape.store import Ring
from collectors.backends.scrape.text import PageSample

TARGET = "http://host:8000/metrics"
LABELS = {TARGET: {"job": "scrape", "instance": "host:8000"}}


def page(value: float, name: str = "x_total", **labels: str) -> list[PageSample]:
    return [PageSample(name, tuple(sorted(labels.items())), value)]


def ring(path: Path | None = None, *, keep_s: float = 1e9, max_bytes: int = 1 << 30) -> Ring:
    return Ring(path, keep_s=keep_s, max_bytes=max_bytes)


def value_of(held: Ring, expression: str, at_s: float) -> float | None:
    tracks = held.tracks(at_s - 10_000, at_s, LABELS)
    samples = evaluate(parse(expression), tracks, at_s)
    return samples[0].value if samples else None


def test_counter_reset_is_not_a_negative_rate() -> None:
    held = ring()
    for i, value in enumerate([100, 110, 120, 3, 13]):
        held.add(TARGET, 1000 + 10 * i, 0, page(value))
    # (1000, 1040] holds 110, 120, 3, 13, a rise of 10 + 3 + 10 over 30 s, extrapolated to 40 s.
    assert value_of(held, "increase(x_total[40s])", 1040) == pytest.approx(23 * 40 / 30)
    assert value_of(held, "resets(x_total[1m])", 1040) == 1


def test_failed_scrape_ends_every_series_and_up_is_zero() -> None:
    held = ring()
    held.add(TARGET, 1000, 0, page(1))
    held.add_failure(TARGET, 1010, 0, "connection refused")
    assert value_of(held, "x_total", 1005) == 1
    assert value_of(held, "x_total", 1011) is None
    assert value_of(held, 'up{instance="host:8000"}', 1011) == 0
    assert held.newest() == {TARGET: (1010, "connection refused")}


def test_series_that_leaves_the_page_is_gone() -> None:
    held = ring()
    held.add(TARGET, 1000, 0, [*page(1), *page(2, name="y")])
    held.add(TARGET, 1010, 0, page(3))
    assert value_of(held, "y", 1011) is None
    assert value_of(held, "x_total", 1011) == 3
    held.add(TARGET, 1020, 0, [*page(4), *page(5, name="y")])
    assert value_of(held, "y", 1021) == 5


def test_own_job_and_instance_labels_step_aside() -> None:
    held = ring()
    held.add(TARGET, 1000, 0, page(1, instance="inner"))
    assert value_of(held, 'x_total{exported_instance="inner",instance="host:8000"}', 1000) == 1


def test_ring_survives_a_restart_of_the_process(tmp_path: Path) -> None:
    first = ring(tmp_path / "sub" / "ring.sqlite")
    first.add(TARGET, 1000, 0, page(1))
    first.close()
    again = ring(tmp_path / "sub" / "ring.sqlite")
    again.add(TARGET, 1010, 0, page(11))
    assert value_of(again, "increase(x_total[10s])", 1010) is None  # (1000, 1010] holds one sample
    assert again.times(0, 2000) == [1000, 1010]
    again.close()


def test_old_scrapes_leave() -> None:
    held = ring(keep_s=100)
    for i in range(200):
        held.add(TARGET, 1000 + 10 * i, 0, page(i))
    times = held.times(0, 1e6)
    assert times[-1] - times[0] < 100 + 50 * 10 + 1


def test_file_stays_within_its_size(tmp_path: Path) -> None:
    limit, file = 300_000, tmp_path / "ring.sqlite"
    held = ring(file, max_bytes=limit)
    rng = random.Random(1)
    for i in range(600):
        samples = [PageSample("x", (("i", str(j)),), rng.random()) for j in range(200)]
        held.add(TARGET, 1000 + i, 0, samples)
    assert held.times(0, 1e6)[-1] == 1599
    held.close()
    assert file.stat().st_size < limit * 2
    assert (tmp_path / "ring.sqlite").stat().st_size < limit * 2


def test_changing_labels_do_not_fill_the_layouts(tmp_path: Path) -> None:
    held = ring(tmp_path / "ring.sqlite", keep_s=50)
    for i in range(300):
        held.add(TARGET, 1000 + i, 0, page(1, request_id=str(i)))
    held.close()
    assert (tmp_path / "ring.sqlite").stat().st_size < 400_000
