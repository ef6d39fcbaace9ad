"""The demo inside our own process: a ring filled with its last hours, for when nothing is connected."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from collectors.backends.scrape.backend import RingBackend
from collectors.backends.scrape.promql.samples import Tracks
from collectors.backends.scrape.promql.tree import Matcher, Selector
from collectors.backends.scrape.scraper import ScrapeTarget, kept
from collectors.backends.scrape.store import Ring
from collectors.demo.deployment import Demo
from collectors.demo.replica import pod_name
from collectors.source import Source, source_from
from collectors.units import MIB, S_PER_DAY, S_PER_HOUR

INTERVAL_S = 15.0
"""Between two scrapes: what most Prometheus servers are set to."""
GPU_TARGET = ScrapeTarget("http://demo-node:9400/metrics")


class DemoFeed:
    """A demo and its ring. The time of day is that of ``clock`` (UTC), so incidents come at their hour."""

    def __init__(
        self,
        *,
        hours: float = 1.0,
        replicas: int = 4,
        seed: int = 1,
        keep_s: float = S_PER_DAY,
        clock: Callable[[], float] = time.time,
        second_of_day: float | None = None,
    ) -> None:
        now = clock()
        start = now - hours * S_PER_HOUR
        at = (now if second_of_day is None else second_of_day) - hours * S_PER_HOUR
        self._demo = Demo(start_s=start, second_of_day=at % S_PER_DAY, replicas=replicas, seed=seed)
        self._clock = clock
        self.ring = Ring(None, keep_s=keep_s, max_bytes=512 * MIB)
        self._targets = [pod_target(replica.number) for replica in self._demo.replicas]
        self.backend = RingBackend(self.ring, [*self._targets, GPU_TARGET], clock=clock)
        self._next_s = start
        self.catch_up()

    def follow(self, clock: Callable[[], float]) -> None:
        """Go by another clock from now on: a past that was made quickly goes on in real time."""
        self._clock = clock
        self.backend = RingBackend(self.ring, [*self._targets, GPU_TARGET], clock=clock)

    def catch_up(self) -> None:
        """Fill the ring up to now."""
        now = self._clock()
        while self._next_s <= now:
            self._demo.advance(self._next_s)
            for replica, target in zip(self._demo.replicas, self._targets, strict=True):
                samples = self._demo.replica_samples(replica.number)
                if samples is None:
                    self.ring.add_failure(target.url, self._next_s, 0.0, f"{target.instance} is lost.")
                else:
                    self.ring.add(target.url, self._next_s, 0.0, kept(samples))
            self.ring.add(GPU_TARGET.url, self._next_s, 0.0, kept(self._demo.gpu_samples()))
            self._next_s += INTERVAL_S

    def tracks(self, start_s: float, end_s: float) -> Tracks:
        """All series of the ring between two moments."""
        return self.ring.tracks(start_s, end_s, {t.url: t.labels for t in [*self._targets, GPU_TARGET]})

    def source(self, window_s: float = 300.0) -> Source:
        """The source that reads this feed, as :func:`demo_source` describes it."""
        return demo_source(len(self._targets), window_s=window_s)


def demo_source(replicas: int = 4, *, window_s: float = 300.0) -> Source:
    """The source to read the backend of a feed with; its targets are never fetched."""
    targets = [*(pod_target(number).url for number in range(replicas)), GPU_TARGET.url]
    raw = {"schema_version": 1, "name": "Demo deployment", "scrape": {"targets": targets}, "window_s": window_s}
    return source_from(raw)


def pod_target(number: int) -> ScrapeTarget:
    """The metrics page of one replica, at the address that its pod would have."""
    return ScrapeTarget(f"http://{pod_name(number)}:8000/metrics")


ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Tracked(Protocol):
    """Anything that has series over a time."""

    def tracks(self, start_s: float, end_s: float) -> Tracks:
        """The series of the feed between two moments."""


def write_history(path: Path, feed: Tracked, *, start_s: float, end_s: float) -> int:
    """Write every sample of the feed, one series after the other; returns how many."""
    tracks = feed.tracks(start_s, end_s)
    written = 0
    with path.open("w", encoding="utf-8") as out:
        for track in tracks.select(Selector((Matcher("__name__", "=~", ".+"),))):
            labels = {key: value for key, value in track.labels.items() if key != "__name__"}
            inside = ",".join(f'{key}="{value.translate(ESCAPES)}"' for key, value in sorted(labels.items()))
            head = f"{track.labels['__name__']}{{{inside}}}"
            for at_s, value in zip(track.times.tolist(), track.values.tolist(), strict=True):
                out.write(f"{head} {value!r} {at_s:.3f}\n")
                written += 1
        out.write("# EOF\n")
    return written
