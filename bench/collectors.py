"""The live view of a large fleet: 2,000 replicas and 10,000 GPUs in a real Prometheus, read as the Live page does.

A refresh is everything the page shows: the observation, the lines of the range and every GPU, every 15 s as the page
asks for it. A fleet is read in turns (collectors.backends.ttl) and a long range in parts, so refreshes differ: those of
the whole cycle are told by their median and their maximum. Processor time inside Prometheus stands apart from our own;
both share the cores here, and whatever else runs takes from them: where the wall is slower than both together, it did.
The data are kept in bench/out (4.2 GB); BENCH_FOLDER puts them elsewhere.
"""

import contextlib
import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.fleet import FleetSize, write_fleet
from bench.server import prometheus
from bench.table import Row
from bench.yardstick import in_yardsticks, yardstick_ms
from collectors.backends.cache import CachingBackend
from collectors.connect import prometheus_backend
from collectors.prometheus.fetch import Fetcher, Reply
from collectors.questions.devices import read_devices
from collectors.questions.history import history
from collectors.reading import read_from
from collectors.reading.observation import State
from collectors.source import Source, source_from
from ui.figures.gpu_map import MEASURES
from ui.live.gpus import TROUBLE

NAME = "Live view of 2,000 replicas and 10,000 GPUs, from a Prometheus that scrapes them every minute"

REFRESH_S = 15
"""Seconds between two refreshes of the Live page, as it has them."""
WARM_UP = 4
"""Refreshes after the opening until everything has had its turn apart from the rest: their cost is told apart."""
REFRESHES = 20
"""Five minutes: the longest period of anything."""
LIMIT = {900: in_yardsticks(quiet_ms=1000.0), 86_400: in_yardsticks(quiet_ms=3000.0)}
"""Longest refresh of the Live page in yardsticks, by the window it shows in seconds."""
MOST_QUERIES = 20
"""Queries of one refresh at most: what a shared Prometheus bears from every viewer."""
MOST_MEGABYTES = 50.0
"""Megabytes of one refresh at most."""
SHOWN = (*MEASURES["sm_active"].keys, *TROUBLE)
"""What the page reads of single GPUs as it opens: the measure of its map, and what shows trouble."""
KEEP_S = 20 * 86_400.0
"""Time that the Prometheus keeps, longer than the day shown."""
OUT = Path(__file__).parent / "out"
LABEL = {900: "15 m", 86_400: "24 h"}
"""Names of the windows."""


@dataclass(frozen=True, kw_only=True)
class RefreshCost:
    """What one refresh took."""

    wall_s: float
    beside_ms: float
    inside_s: float
    own_s: float
    queries: int
    megabytes: float


class Meter:
    """Counts the answers of every client, and the processor time of the server and of this process."""

    def __init__(self, pid: int) -> None:
        self._pid, self._queries, self._bytes = pid, 0, 0

    def measure(self, work: Callable[[], None]) -> RefreshCost:
        """Run ``work`` once and count its time, its queries and the bytes of their answers."""
        self._queries = self._bytes = 0
        inside, own, start = server_cpu_s(self._pid), time.process_time(), time.perf_counter()
        work()
        wall_s = time.perf_counter() - start
        return RefreshCost(
            wall_s=wall_s,
            inside_s=server_cpu_s(self._pid) - inside,
            own_s=time.process_time() - own,
            beside_ms=yardstick_ms(),
            queries=self._queries,
            megabytes=self._bytes / 1e6,
        )

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what comes over the network meanwhile."""
        post = Fetcher.post

        def counted(fetcher: Fetcher, url: str, form: object) -> Reply:
            reply = post(fetcher, url, form)  # type: ignore[arg-type]
            self._queries += 1
            self._bytes += len(reply.body)
            return reply

        Fetcher.post = counted  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            Fetcher.post = post  # type: ignore[method-assign]


def server_cpu_s(pid: int) -> float:
    """Processor seconds a process has used; NaN where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Memory of a process in MB; NaN where there is no /proc."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return math.nan
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def refresh(backend: CachingBackend, source: Source, *, at_s: float, span_s: float) -> None:
    """Everything a Live page reads, as seen at one moment."""
    observed = read_from(backend, source, at_s=at_s)
    if observed.state in (State.NO_DATA, State.UNREACHABLE, State.STALE):
        raise RuntimeError(f"The fleet is not read: {observed.reasons}")
    lines = history(backend, source, start_s=at_s - span_s, end_s=at_s)
    devices = read_devices(backend, source, at_s=at_s, columns=SHOWN)
    if not lines.lines or observed.number("gpus") != len(devices):
        raise RuntimeError("The fleet is read in part only.")


def run() -> list[Row]:
    """Rows for each range: opening, refreshing, and their cost. Needs Prometheus and 4.2 GB of disk."""
    if shutil.which("prometheus") is None:
        print("Left out: this benchmark needs Prometheus (apt-get install prometheus, brew install prometheus).")
        return []
    data, end_s, series = _kept_fleet(Path(os.environ.get("BENCH_FOLDER", OUT)) / "fleet")
    rows = [Row(what="series", unit="", samples=(float(series),))]
    for span_s in LIMIT:
        with prometheus(data) as (url, pid):
            rows += _rows(url, pid, span_s, end_s)
            rows.append(Row(what=f"{LABEL[span_s]}: memory of Prometheus", unit="MB", samples=(resident_mb(pid),)))
    return [*rows, Row(what="memory of this process", unit="MB", samples=(resident_mb(os.getpid()),))]


def _kept_fleet(folder: Path) -> tuple[Path, int, int]:
    """The data directory of the fleet, its last moment, its number of series; anew where the fleet changed."""
    record, data = folder / "fleet.json", folder / "data"
    sources = b"".join((Path(__file__).parent / name).read_bytes() for name in ("fleet.py", "tsdb.py"))
    written = hashlib.sha256(sources).hexdigest()
    with contextlib.suppress(OSError, ValueError):
        kept = json.loads(record.read_text())
        if kept["written"] == written and time.time() - kept["end_s"] < KEEP_S:
            return data, int(kept["end_s"]), int(kept["series"])
    shutil.rmtree(folder, ignore_errors=True)
    end_s = int(time.time()) // 600 * 600
    series = write_fleet(data, FleetSize(), end_s=end_s)
    record.write_text(json.dumps({"written": written, "end_s": end_s, "series": series}))
    return data, end_s, series


def _rows(url: str, pid: int, span_s: int, end_s: int) -> list[Row]:
    """One range: opened cold, warmed up, then refreshed every 15 s through a whole cycle."""
    raw = {"schema_version": 1, "name": "fleet", "prometheus": {"url": url, "timeout_s": 300}, "window_s": 300}
    source = source_from(raw)
    assert source.prometheus is not None
    backend = prometheus_backend(source, source.prometheus)
    meter = Meter(pid)
    start_s = end_s - (WARM_UP + REFRESHES) * REFRESH_S
    with meter.counting():
        moments = [start_s + i * REFRESH_S for i in range(1 + WARM_UP + REFRESHES)]
        costs = [meter.measure(partial(refresh, backend, source, at_s=t, span_s=span_s)) for t in moments]
    name, cold, first, later = LABEL[span_s], costs[0], costs[1 : 1 + WARM_UP], costs[1 + WARM_UP :]
    limit, most = LIMIT[span_s], max(c.queries for c in costs)
    worst = max(later, key=lambda c: c.wall_s)
    return [
        _walls(f"{name}: open", [cold]),
        Row(what=f"{name}: open, processor time in Prometheus", unit="s", samples=(cold.inside_s,)),
        Row(what=f"{name}: open, processor time of ours", unit="s", samples=(cold.own_s,)),
        _walls(f"{name}: first minute of refreshes", first, limit),
        _walls(f"{name}: refresh", later, limit),
        _walls(f"{name}: worst refresh of a cycle", [worst], limit),
        Row(what=f"{name}: refresh, processor time in Prometheus", unit="s", samples=tuple(c.inside_s for c in later)),
        Row(what=f"{name}: refresh, processor time of ours", unit="s", samples=tuple(c.own_s for c in later)),
        Row(what=f"{name}: most queries of a refresh", unit="", samples=(float(most),), limit=MOST_QUERIES),
        Row(what=f"{name}: most fetched", unit="MB", samples=(max(c.megabytes for c in costs),), limit=MOST_MEGABYTES),
    ]


def _walls(what: str, costs: Sequence[RefreshCost], limit: float | None = None) -> Row:
    walls, beside = tuple(c.wall_s for c in costs), tuple(c.beside_ms for c in costs)
    return Row(what=what, unit="s", samples=walls, beside_ms=beside, limit=limit)
