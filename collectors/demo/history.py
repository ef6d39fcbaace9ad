"""Hours of the demo as OpenMetrics text with timestamps, for ``promtool tsdb create-blocks-from openmetrics``."""

from pathlib import Path

from collectors.backends.scrape.promql.tree import Matcher, Selector
from collectors.demo.feed import DemoFeed

ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def write_history(path: Path, feed: DemoFeed, *, start_s: float, end_s: float) -> int:
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
