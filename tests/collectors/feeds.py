"""Series made by hand in a ring, read as if they had been scraped: no network, no waiting."""

from collections.abc import Callable, Mapping

from collectors.backends.scrape.backend import RingBackend
from collectors.backends.scrape.scraper import ScrapeTarget
from collectors.backends.scrape.store import Ring
from collectors.backends.scrape.text import read_page
from collectors.reading import read_from
from collectors.reading.observation import Observation
from collectors.source import source_from

NOW = 1_800_000_000.0
INTERVAL_S = 10.0
WINDOW_S = 300.0

Page = Callable[[float], str | None]
"""The page of a target, seconds since the start; None is a scrape that failed."""


class Feed:
    """Targets by address with their pages over the last minutes."""

    def __init__(self, pages: Mapping[str, Page], *, seconds: float = 600.0, interval_s: float = INTERVAL_S) -> None:
        self.ring = Ring(None, keep_s=1e9, max_bytes=1 << 30)
        self.targets = [ScrapeTarget(f"http://{address}/metrics") for address in pages]
        self.backend = RingBackend(self.ring, self.targets, clock=lambda: NOW)
        steps = int(seconds / interval_s)
        for i in range(steps + 1):
            elapsed = i * interval_s
            for target, page in zip(self.targets, pages.values(), strict=True):
                text = page(elapsed)
                at_s = NOW - seconds + elapsed
                if text is None:
                    self.ring.add_failure(target.url, at_s, 0.0, f"{target.instance} is down.")
                else:
                    self.ring.add(target.url, at_s, 0.0, read_page(text))

    def read(self, **more: object) -> Observation:
        raw = {"schema_version": 1, "name": "t", "scrape": {"targets": ["http://x/metrics"]}, "window_s": WINDOW_S}
        return read_from(self.backend, source_from({**raw, **more}), clock=lambda: NOW)


def steady(*lines: str) -> Page:
    """Lines whose ``@rate`` grows by that much a second: ``x_total @2.5``; other values stay."""

    def page(elapsed: float) -> str:
        out = []
        for line in lines:
            head, _, value = line.rpartition(" ")
            out.append(f"{head} {float(value[1:]) * (elapsed + 1000.0)!r}" if value.startswith("@") else line)
        return "\n".join(out) + "\n"

    return page


def histogram(name: str, per_second: Mapping[float, float], total: float, labels: str = "") -> list[str]:
    """Lines of a histogram: cumulative rates by edge, ``total`` the rate of the sum."""
    comma = "," if labels else ""
    lines = [f'{name}_bucket{{{labels}{comma}le="{edge}"}} @{rate}' for edge, rate in per_second.items()]
    count = list(per_second.values())[-1]
    lines.append(f'{name}_bucket{{{labels}{comma}le="+Inf"}} @{count}')
    return [*lines, f"{name}_count{{{labels}}} @{count}", f"{name}_sum{{{labels}}} @{total}"]
