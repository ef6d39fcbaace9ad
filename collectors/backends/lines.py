"""Lines over time that are kept: which points of them are still to be asked for, and the line with its new points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.prometheus.answers import TimeSeries

PART_POINTS = 37
"""Points of a fleet's line that one question adds to its older end: 6 of 24 hours; the first, half as many."""

Labels = tuple[tuple[str, str], ...]
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class SampledLine:
    """The series of one expression at grid points ``first`` to ``last`` (multiples of the step)."""

    first: int
    last: int
    series: Mapping[Labels, Points]

    def as_series(self) -> tuple[TimeSeries, ...]:
        """The line as a backend answers it."""
        return tuple(
            TimeSeries(labels=dict(key), times_s=tuple(t for t, _ in points), values=tuple(v for _, v in points))
            for key, points in self.series.items()
        )


@dataclass(frozen=True)
class MissingSpans:
    """The spans of points to ask for, and whether they join what is known."""

    spans: tuple[tuple[int, int], ...]
    joins: bool


def missing_points(line: SampledLine | None, first: int, last: int, *, whole: bool) -> MissingSpans:
    """What of ``first`` to ``last`` a line does not have: all of it when it ends elsewhere; ``whole``: all at once."""
    if line is None or not first <= line.last <= last or (whole and line.first > first):
        begin = first if whole else max(first, last - PART_POINTS // 2)
        return MissingSpans(((begin, last),) if last >= first else (), joins=False)
    newer = ((line.last + 1, last),) if line.last < last else ()
    older = ((max(first, line.first - PART_POINTS), line.first - 1),) if line.first > first else ()
    return MissingSpans((*newer, *older), joins=True)


def extended(
    line: SampledLine | None,
    spans: Sequence[tuple[int, int]],
    parts: Sequence[tuple[TimeSeries, ...]],
    first: int,
    step_s: float,
) -> SampledLine:
    """The line with its new points, without those before ``first``."""
    held: dict[Labels, Points] = {}
    begin = (first - 0.5) * step_s
    if line is not None:
        held = {key: tuple(p for p in points if p[0] > begin) for key, points in line.series.items()}
        spans = [*spans, (line.first, line.last)]
    for series in (s for part in parts for s in part):
        key = tuple(sorted(series.labels.items()))
        points = tuple(zip(series.times_s, series.values, strict=True))
        known = held.get(key, ())
        held[key] = points + known if known and points and points[0] < known[0] else known + points
    lowest = max(first, min((low for low, _ in spans), default=first))
    highest = max((high for _, high in spans), default=first)
    return SampledLine(first=lowest, last=highest, series={key: points for key, points in held.items() if points})
