"""Sources and fleets as they are found: copies of series, updates within the window, ranks behind one server, engines
that do not measure what is limited, a night without load. Each is as planned, or it is said what differs."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
import pytest

from collectors.backends.scrape.backend import RingBackend
from collectors.backends.scrape.promql.samples import Track
from collectors.backends.scrape.scraper import ScrapeTarget
from collectors.reading.remarks import RemarkKind
from collectors.source import source_from
from reality.diagnosis.diagnose import Reading, diagnose, read_for_diagnosis
from reality.diagnosis.result import Diagnosis, OfferedAction
from reality.diagnosis.sentences import action_in_words, cause_in_words
from tests.reality.diagnosis.test_known_causes import told
from tests.tools.deployment_truth import History, run
from tests.tools.diagnosis_cases import NOW, WINDOW_S, Ground, KeptRing, ground, tracks_of

PLAN = "llama-8b-l40s"
Changed = Callable[[Track], Iterator[Track]]


@cache
def as_planned(engine: str = "vllm", rps: float = 1.0) -> tuple[Ground, History]:
    given = ground(PLAN, engine)
    return given, run(given.world.changed(rps=given.world.rps * rps, seed=11))


def read(given: Ground, tracks: Sequence[Track]) -> Reading:
    backend = RingBackend(KeptRing(tracks), [ScrapeTarget("http://server-0:8000/metrics")], clock=lambda: NOW)  # type: ignore[arg-type]
    raw = {"schema_version": 1, "name": "t", "prometheus": {"url": "http://127.0.0.1:9"}, "window_s": WINDOW_S}
    limits = given.planned.answer.question.limits
    return read_for_diagnosis(limits, source_from(raw), backend=backend, at_s=NOW, clock=lambda: NOW)


def diagnosed(change: Changed, engine: str = "vllm", rps: float = 1.0) -> tuple[Ground, Reading, Diagnosis]:
    given, history = as_planned(engine, rps)
    reading = read(given, [one for track in tracks_of(history, given, end_s=NOW) for one in change(track)])
    return given, reading, diagnose(given.planned, reading)


def labelled(track: Track, **labels: str) -> Track:
    return Track({**track.labels, **labels}, track.times, track.values, track.ends)


def unchanged(track: Track) -> Iterator[Track]:
    yield track


def seen_twice(label: str) -> Changed:
    def change(track: Track) -> Iterator[Track]:
        yield labelled(track, **{label: "a"})
        later = track.times > track.times[0] + 60.0
        yield Track({**track.labels, label: "b"}, track.times[later], track.values[later], track.ends)

    return change


def replaced(track: Track) -> Iterator[Track]:
    """Every pod by another of its name, one after the other, in the middle of the window."""
    pod = track.labels.get("pod", "")
    moment = NOW - 900.0 + 60.0 * int(pod.removeprefix("server-") or 0)
    old = track.times < moment
    new = {**track.labels, "pod": f"new-{pod}"}
    if track.labels["job"] == "vllm":
        new["instance"] = f"new-{pod}:8000"
    counts = track.labels["__name__"].endswith(("_total", "_count", "_sum", "_bucket"))
    before = track.values[old][-1] if counts else 0.0
    yield Track(track.labels, track.times[old], track.values[old], np.array([moment]))
    yield Track(new, track.times[~old], track.values[~old] - before, track.ends)


def ranks_of_one_server(track: Track) -> Iterator[Track]:
    own = {"pod": "server-0"}
    if track.labels["job"] == "vllm":
        own |= {"engine": track.labels["pod"].removeprefix("server-"), "instance": "server-0:8000"}
    yield labelled(track, **own)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (seen_twice("prometheus_replica"), RemarkKind.COPIES),
        (seen_twice("__replica__"), RemarkKind.COPIES),
        (replaced, RemarkKind.REPLICAS_REPLACED),
        (ranks_of_one_server, None),
    ],
    ids=["Prometheus twice", "Mimir twice", "an update", "ranks of one server"],
)
def test_a_fleet_as_planned_is_seen_as_planned(change: Changed, kind: RemarkKind | None) -> None:
    given, reading, said = diagnosed(change)
    assert said.state == "met", said.headline
    assert said.main_cause is None, said.headline
    assert said.load_rps == pytest.approx(given.world.rps, rel=0.05)
    assert kind is None or reading.observed.has(kind)
    assert len(reading.details.replicas) == given.world.replicas
    assert not reading.observed.number("replicas_lost")


def test_a_scrape_that_failed_is_no_loss() -> None:
    def change(track: Track) -> Iterator[Track]:
        if track.labels["job"] == "vllm" and track.labels["pod"] == "server-1":
            track = Track(track.labels, track.times[:-1], track.values[:-1], track.times[-1:])
        yield track

    given, reading, said = diagnosed(change)
    assert reading.observed.number("replicas_lost") == 1.0
    assert len(reading.details.replicas) == given.world.replicas
    assert (said.state, said.main_cause) == ("met", None), said.headline


def test_a_label_that_numbers_replicas_makes_no_copies() -> None:
    given, reading, _ = diagnosed(lambda track: iter([labelled(track, replica=track.labels.get("pod", ""))]))
    assert not reading.observed.has(RemarkKind.COPIES)
    assert reading.observed.number("replicas") == given.world.replicas


@pytest.mark.parametrize("engine", ["sglang", "nim"])
def test_single_gaps_are_not_judged_as_gaps_of_requests(engine: str) -> None:
    """Of single gaps 5 % may take twice as long, with prompts between: the mean of a request does not."""
    given, _, said = diagnosed(unchanged, engine)
    _, history = as_planned(engine)
    row = next(one for one in said.limits if one.limit_key == "itl_ms")
    truth = history.percentile("tpot_ms", row.percentile, 600.0, 2400.0)
    assert (row.quantity, row.verdict) == ("tpot_ms", "met"), said.headline
    assert row.measured == pytest.approx(truth, rel=0.1)
    assert row.low is not None
    assert row.high is not None
    assert row.low <= truth <= row.high
    assert "single gaps" in row.reason
    assert said.replicas_needed == given.world.replicas


@pytest.mark.parametrize(("rps", "verdict"), [(1.0, "met"), (2.2, "broken")])
def test_a_first_token_is_judged_by_queue_and_prefill_where_nothing_else_tells(rps: float, verdict: str) -> None:
    _, _, said = diagnosed(unchanged, "tgi", rps)
    _, history = as_planned("tgi", rps)
    row = next(one for one in said.limits if one.quantity == "ttft_ms")
    truth = history.percentile("ttft_ms", row.percentile, 600.0, 2400.0)
    assert row.verdict == verdict, said.headline
    assert row.low is not None
    assert row.high is not None
    assert row.low <= truth <= row.high
    assert (row.broken_since is not None) == (verdict == "broken")


def test_a_histogram_without_an_end_breaks_no_limit() -> None:
    def change(track: Track) -> Iterator[Track]:
        if "first_token" not in track.labels["__name__"] or track.labels.get("le", "+Inf") == "+Inf":
            yield track

    _, _, said = diagnosed(change)
    row = next(one for one in said.limits if one.quantity == "ttft_ms")
    assert (row.verdict, row.measured, row.attainment) == ("unclear", None, None)
    assert "no bucket with an end" in said.headline


def test_a_night_without_load_says_nothing_of_too_few_replicas() -> None:
    given, _, by_day = diagnosed(unchanged)
    _, _, said = diagnosed(unchanged, rps=0.003)
    assert by_day.capacity_within_limits_rps is not None
    assert said.capacity_within_limits_rps == pytest.approx(by_day.capacity_within_limits_rps, rel=0.15)
    assert said.replicas_needed == 1
    assert [one.kind for one in said.actions] == ["none"]
    assert "this load takes 1 replica" in said.actions[0].why
    assert given.world.replicas > 1


def action(kind: str, enough: bool | None, replicas: int, change: int = 0, subject: str | None = None) -> OfferedAction:
    return OfferedAction.model_validate(
        {
            "kind": kind,
            "replicas": replicas,
            "gpus": replicas,
            "change": change,
            "subject": subject,
            "capacity_within_limits_rps": 1.0,
            "enough": enough,
            "usd_per_month": None,
            "weight": None,
            "why": "",
        }
    )


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ([action("restore", True, 3, 1, "vllm-2")], " Restore vllm-2."),
        (
            [action("restore", False, 3, 1, "vllm-2"), action("resize", True, 4, 2)],
            " Restore vllm-2, which alone is not enough, and grow to 4 replicas.",
        ),
        ([action("restore", False, 3, 1)], " Restore what is missing, which alone is not enough."),
        ([action("drain", True, 3, 0, "vllm-1")], " Drain vllm-1 and put another in its place."),
        ([action("drain", True, 2, -1, "vllm-1")], " Drain vllm-1."),
        ([action("resize", True, 2, -1)], " 2 replicas while the load is this low, 1 fewer."),
        ([action("none", True, 2)], ""),
    ],
)
def test_what_is_not_enough_by_itself_is_not_offered_as_if_it_were(actions: list[OfferedAction], words: str) -> None:
    assert action_in_words(actions) == words


def test_a_share_that_others_make_up_for_is_not_said_to_be_part_of_the_gap() -> None:
    row = next(one for one in told("replicas")[1].causes if one.cause == "replicas")
    beyond, against = row.model_copy(update={"share_ms": 33.9}), row.model_copy(update={"share_ms": -11.8})
    assert cause_in_words(row.model_copy(update={"share_ms": 5.0}), 8.0).endswith(", 5 of 8 ms")
    assert cause_in_words(beyond, 7.17).endswith(", +33.9 ms, of which other differences leave +7.17 ms")
    assert cause_in_words(against, 0.527).startswith("Largest difference to the plan: ")


@pytest.mark.parametrize(
    ("cause", "subject"),
    [
        ("cache_hits", "the prefix cache hits"),
        ("weights", "the planned format"),
        ("kv_cache", "the size of the KV cache"),
    ],
)
def test_what_got_worse_can_be_taken_back(cause: str, subject: str) -> None:
    said = told(cause)[1]
    restored = [one for one in said.actions if one.kind == "restore"]
    assert [one.subject for one in restored] == [subject], said.headline
    assert (restored[0].capacity_within_limits_rps or 0.0) > (said.capacity_within_limits_rps or 0.0)
