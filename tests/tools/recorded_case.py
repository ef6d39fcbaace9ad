"""A deployment of known causes in a real Prometheus: its whole history as blocks of the server's own database."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from collectors.backends.scrape.promql.samples import Track, Tracks
from tests.collectors.servers import running_prometheus, write_blocks


@dataclass(frozen=True)
class Kept:
    """Series that are kept as they are."""

    kept: Sequence[Track]

    def tracks(self, start_s: float, end_s: float) -> Tracks:
        """All of them: they lie between the two moments."""
        return Tracks(self.kept)


@contextmanager
def recorded(tracks: Sequence[Track], *, start_s: float, end_s: float) -> Iterator[str]:
    """The address of a Prometheus that holds these series. Needs ``prometheus`` and ``promtool``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_blocks(folder, Kept(tracks), start_s=start_s, end_s=end_s)
        with running_prometheus(folder) as prometheus:
            yield prometheus.url
