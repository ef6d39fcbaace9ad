"""The /metrics pages of a run as they came, and reading them again as the collector does."""

from __future__ import annotations

import json
import lzma
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import requests

from collectors.backends.scrape.backend import RingBackend
from collectors.backends.scrape.scraper import ScrapeTarget, kept
from collectors.backends.scrape.store import Ring
from collectors.backends.scrape.text import PageSample, read_page
from collectors.source import Source, source_from
from collectors.units import MIB
from sizing.base.units import S_PER_DAY


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Pages of one target with the moments they were scraped at."""

    target: str
    times_s: tuple[float, ...]
    pages: tuple[str, ...]

    def save(self, path: Path) -> None:
        """Compressed: pages differ in few places, so an hour of them is small."""
        held = {"target": self.target, "times_s": self.times_s, "pages": self.pages}
        path.write_bytes(lzma.compress(json.dumps(held).encode(), preset=9 | lzma.PRESET_EXTREME))

    @classmethod
    def load(cls, path: Path) -> Recording:
        """A saved recording."""
        held = json.loads(lzma.decompress(path.read_bytes()))
        return cls(target=held["target"], times_s=tuple(held["times_s"]), pages=tuple(held["pages"]))

    def samples(self, index: int) -> list[PageSample]:
        """The samples of one page."""
        return read_page(self.pages[index])

    def backend(self) -> RingBackend:
        """A source that answers from these pages."""
        ring, target = Ring(None, keep_s=S_PER_DAY, max_bytes=256 * MIB), ScrapeTarget(self.target)
        for at_s, page in zip(self.times_s, self.pages, strict=True):
            ring.add(self.target, at_s, 0.0, kept(read_page(page)))
        return RingBackend(ring, [target], clock=lambda: self.times_s[-1])

    def source(self) -> Source:
        """The source to read them with."""
        return source_from({"schema_version": 1, "name": "chain", "scrape": {"targets": [self.target]}})


class Recorder:
    """Scrapes a page every ``interval_s`` in a thread until stopped."""

    def __init__(self, target: str, interval_s: float) -> None:
        self._target, self._interval_s = target, interval_s
        self._found: list[tuple[float, str]] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Recorder:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            at_s = round(time.time(), 3)
            self._found.append((at_s, requests.get(self._target, timeout=5).text))
            self._stopped.wait(self._interval_s)

    def recording(self) -> Recording:
        """What was recorded."""
        times, pages = zip(*self._found, strict=True)
        return Recording(target=self._target, times_s=times, pages=pages)
