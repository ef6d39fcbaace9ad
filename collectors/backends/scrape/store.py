"""The ring of scrapes on disk: one row per scrape and target in SQLite, bounded by age and by size.

A row holds the values of one page, compressed; the list of series it belongs to (its layout) is stored once, because it
hardly ever changes. A failed scrape is a row without values: it marks every series of its target as gone.
"""

import hashlib
import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from collectors.backends.scrape.promql.samples import Track, Tracks
from collectors.backends.scrape.text import PageSample
from collectors.errors import TooLarge
from collectors.units import MIB, S_PER_HOUR

TRIM_SHARE = 0.1
"""Of the oldest scrapes that go at a time when the file is too large. Chosen: rare, and little lost at once."""
CHECK_EVERY = 50
"""Scrapes between two looks at age and size. Chosen: a look costs as much as some scrapes."""
CHURN_S = S_PER_HOUR
"""In which the lists of series of a ring are counted: those of a healthy source hardly ever change."""
MOST_CHURN_BYTES = 512 * MIB
"""Of such lists in that time. Chosen: those of 500 replicas, each of which changes its series ten times."""

_TABLES = """
CREATE TABLE IF NOT EXISTS layouts (id INTEGER PRIMARY KEY, digest TEXT UNIQUE NOT NULL, series BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS scrapes (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL, at_s REAL NOT NULL, took_s REAL NOT NULL,
    layout INTEGER, vals BLOB, problem TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS scrapes_by_time ON scrapes (at_s, target);
"""


class Ring:
    """Scrapes of some targets. ``path`` None keeps them in memory. Safe to use from several threads.

    ``most_churn``: bytes of lists of series that are new within an hour; who asks for one of them unpacks them all.
    """

    def __init__(
        self, path: Path | None, *, keep_s: float, max_bytes: int, most_churn: float = MOST_CHURN_BYTES
    ) -> None:
        self._keep_s, self._max_bytes, self._most_churn = keep_s, max_bytes, most_churn
        self._churn, self._churn_since_s, self._grown = 0, 0.0, 0
        self._lock = threading.Lock()
        self._added = 0
        self._last: dict[str, tuple[object, int]] = {}
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(
            str(path) if path else ":memory:", timeout=10.0, check_same_thread=False, isolation_level=None
        )
        with self._lock:
            self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            if path is not None:
                self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def add(self, target: str, at_s: float, took_s: float, samples: Sequence[PageSample]) -> None:
        """Keep one page. Raises TooLarge where the series of the ring change too much."""
        series = tuple((s.name, s.labels) for s in samples)
        values = np.array([s.value for s in samples], dtype="<f8").tobytes()
        with self._lock:
            layout = self._layout(target, series, at_s)
            self._insert(target, at_s, took_s, layout, zlib.compress(values, 1), "")

    def _layout(self, target: str, series: tuple[tuple[str, tuple[tuple[str, str], ...]], ...], at_s: float) -> int:
        """The number of a list of series; the last one of each target is kept at hand. Raises TooLarge."""
        known = self._last.get(target)
        if known is not None and known[0] == series:
            return known[1]
        text = json.dumps(series, separators=(",", ":")).encode()
        digest = hashlib.sha256(text).hexdigest()
        row = self._db.execute("SELECT id FROM layouts WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            self._count_churn(target, len(text), at_s)
            packed = zlib.compress(text, 6)
            self._db.execute("INSERT INTO layouts (digest, series) VALUES (?, ?)", (digest, packed))
            self._grown += len(packed)
            row = self._db.execute("SELECT id FROM layouts WHERE digest = ?", (digest,)).fetchone()
        self._last[target] = (series, int(row[0]))
        return int(row[0])

    def _count_churn(self, target: str, new_bytes: int, at_s: float) -> None:
        """Count a list of series that was not there before. Raises TooLarge where they are too many."""
        if at_s - self._churn_since_s > CHURN_S:
            self._churn, self._churn_since_s = 0, at_s
        if self._churn + new_bytes > self._most_churn:
            raise TooLarge(
                f"{target} has series whose labels are too many, or change with every reading: more than "
                f"{self._most_churn / MIB:g} MiB of names within an hour are not kept."
            )
        self._churn += new_bytes

    def add_failure(self, target: str, at_s: float, took_s: float, problem: str) -> None:
        """Keep that a scrape failed, and why."""
        with self._lock:
            self._insert(target, at_s, took_s, None, None, problem[:500])

    def _insert(
        self, target: str, at_s: float, took_s: float, layout: int | None, values: bytes | None, problem: str
    ) -> None:
        self._db.execute(
            "INSERT INTO scrapes (target, at_s, took_s, layout, vals, problem) VALUES (?, ?, ?, ?, ?, ?)",
            (target, at_s, took_s, layout, values, problem),
        )
        self._added += 1
        self._grown += len(values or b"")
        if self._added % CHECK_EVERY == 1 or self._grown > self._max_bytes * TRIM_SHARE:
            self._grown = 0
            self._trim(at_s)

    def _trim(self, now_s: float) -> None:
        """Drop what is too old, then the oldest tenth as long as the file is too large."""
        self._last.clear()
        self._db.execute("DELETE FROM scrapes WHERE at_s < ?", (now_s - self._keep_s,))
        for _ in range(50):
            if self._used_bytes() <= self._max_bytes:
                break
            (rows,) = self._db.execute("SELECT count(*) FROM scrapes").fetchone()
            if rows <= 2:
                break
            self._db.execute(
                "DELETE FROM scrapes WHERE id IN (SELECT id FROM scrapes ORDER BY at_s LIMIT ?)",
                (max(1, int(rows * TRIM_SHARE)),),
            )
        self._db.execute("DELETE FROM layouts WHERE id NOT IN (SELECT DISTINCT layout FROM scrapes WHERE layout > 0)")
        self._db.execute("PRAGMA incremental_vacuum")

    def _used_bytes(self) -> int:
        pages, size, free = (
            int(self._db.execute(f"PRAGMA {what}").fetchone()[0])
            for what in ("page_count", "page_size", "freelist_count")
        )
        return (pages - free) * size

    def times(self, start_s: float, end_s: float) -> list[float]:
        """Moments of the successful scrapes in (start, end]."""
        with self._lock:
            rows = self._db.execute(
                "SELECT DISTINCT at_s FROM scrapes WHERE at_s > ? AND at_s <= ? AND layout > 0 ORDER BY at_s",
                (start_s, end_s),
            ).fetchall()
        return [float(row[0]) for row in rows]

    def newest(self) -> dict[str, tuple[float, str]]:
        """Moment and problem (empty: none) of the newest scrape of every target."""
        with self._lock:
            rows = self._db.execute("SELECT target, max(at_s), problem FROM scrapes GROUP BY target").fetchall()
        return {str(target): (float(at_s), str(problem)) for target, at_s, problem in rows}

    def tracks(self, start_s: float, end_s: float, labels: Mapping[str, Mapping[str, str]]) -> Tracks:
        """All series with samples in (start, end]; ``labels`` holds job and instance of every target."""
        with self._lock:
            rows = self._db.execute(
                "SELECT target, at_s, took_s, layout, vals FROM scrapes"
                " WHERE at_s > ? AND at_s <= ? ORDER BY target, at_s",
                (start_s, end_s),
            ).fetchall()
            layouts = {
                int(i): json.loads(zlib.decompress(series))
                for i, series in self._db.execute("SELECT id, series FROM layouts")
                if any(row[3] == i for row in rows)
            }
        tracks: list[Track] = []
        for target in dict.fromkeys(str(row[0]) for row in rows):
            if target in labels:
                tracks += _tracks_of([row for row in rows if row[0] == target], layouts, labels[target])
        return Tracks(tracks)


def _tracks_of(
    rows: Sequence[tuple[str, float, float, int | None, bytes | None]],
    layouts: Mapping[int, Sequence[tuple[str, Sequence[tuple[str, str]]]]],
    own: Mapping[str, str],
) -> Iterable[Track]:
    """The series of one target. A series that is missing from a later scrape, or whose scrape fails, ends there."""
    columns: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[np.ndarray, np.ndarray]]] = {}
    times = np.array([row[1] for row in rows])
    by_layout: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        by_layout.setdefault(row[3] or 0, []).append(i)
    failed = times[by_layout.pop(0, [])]
    for layout, places in by_layout.items():
        matrix = np.array([np.frombuffer(zlib.decompress(rows[i][4] or b""), dtype="<f8") for i in places])
        for j, (name, pairs) in enumerate(layouts[layout]):
            key = (name, tuple((k, v) for k, v in pairs))
            columns.setdefault(key, []).append((times[places], matrix[:, j]))
    tracks = []
    for (name, pairs), parts in columns.items():
        seen = np.concatenate([t for t, _ in parts])
        values = np.concatenate([v for _, v in parts])
        order = np.argsort(seen, kind="stable")
        ends = np.setdiff1d(times, seen) if len(seen) < len(times) else failed
        tracks.append(Track(_labelled(name, pairs, own), seen[order], values[order], ends))
    up = Track({"__name__": "up", **own}, times, np.array([float(row[3] is not None) for row in rows]), np.array([]))
    return [*tracks, up]


def _labelled(name: str, pairs: Sequence[tuple[str, str]], own: Mapping[str, str]) -> dict[str, str]:
    """Labels of a series as Prometheus would store it: its own job and instance step aside for the target's."""
    labels = {(f"exported_{key}" if key in own else key): value for key, value in pairs if value != ""}
    return {"__name__": name, **labels, **own}
