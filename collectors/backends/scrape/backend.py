"""The ring as a source of series: the same expressions as for a Prometheus, answered here."""

import time
from collections.abc import Callable, Sequence

from collectors.backends.backend import Ranges, Vectors
from collectors.backends.scrape.promql import evaluate, parse
from collectors.backends.scrape.promql.samples import LOOK_BACK_S, Tracks
from collectors.backends.scrape.promql.tree import Aggregate, Binary, Call, Negative, Node, Selector, Subquery
from collectors.backends.scrape.scraper import ScrapeTarget
from collectors.backends.scrape.store import Ring
from collectors.errors import Unreachable, UnsupportedExpression
from collectors.prometheus.answers import Notes, TimeSeries
from collectors.queries.query import Query, Subject
from collectors.units import ROUNDING

MAX_RANGE_STEPS = 1_000
"""Points of a line, at most. Chosen: as many as the client of a Prometheus asks for."""


class RingBackend:
    """Answers to queries from the samples that were scraped: a :class:`collectors.backends.backend.Backend`."""

    dedicated = True

    def __init__(self, ring: Ring, targets: Sequence[ScrapeTarget], *, clock: Callable[[], float] = time.time) -> None:
        self._ring, self._targets, self._clock = ring, tuple(targets), clock
        first = self._targets[0].instance if self._targets else "nothing"
        more = len(self._targets) - 1
        self.where = first if more < 1 else f"{first} and {more} more"

    def vectors(self, queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        """Every query at one moment. Raises Unreachable when the newest scrape of every target failed."""
        moment = self._clock() if at_s is None else at_s
        notes = self._notes(moment)
        trees, problems = _parsed(queries)
        reach = max((_reach(tree) for tree in trees.values()), default=0.0) + LOOK_BACK_S
        tracks = self._tracks(moment - reach, moment)
        samples = {}
        for subject, tree in trees.items():
            try:
                samples[subject] = evaluate(tree, tracks, moment)
            except UnsupportedExpression as error:
                problems[subject] = str(error)
        return Vectors(samples=samples, problems=problems, notes=notes)

    def ranges(self, queries: Sequence[Query], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """Every query at every step, but those without data; series come without points where they have no value."""
        step = max(step_s, (end_s - start_s) / (MAX_RANGE_STEPS - 1))
        trees, problems = _parsed(queries)
        reach = max((_reach(tree) for tree in trees.values()), default=0.0) + LOOK_BACK_S
        tracks = self._tracks(start_s - reach, end_s)
        moments = [start_s + i * step for i in range(int((end_s - start_s) / step + ROUNDING) + 1)]
        series = {}
        for subject, tree in trees.items():
            try:
                if lines := _over_time(tree, tracks, moments):
                    series[subject] = lines
            except UnsupportedExpression as error:
                problems[subject] = str(error)
        return Ranges(
            series=series, start_s=start_s, end_s=end_s, step_s=step, problems=problems, notes=self._notes(end_s)
        )

    def _tracks(self, start_s: float, end_s: float) -> Tracks:
        return self._ring.tracks(start_s, end_s, {target.url: target.labels for target in self._targets})

    def _notes(self, moment: float) -> Notes:
        """What the failing targets say. Raises Unreachable when all of them fail."""
        newest = self._ring.newest()
        scrapes = [newest[target.url] for target in self._targets if target.url in newest]
        failing = [problem for at_s, problem in scrapes if problem and at_s <= moment]
        if scrapes and len(failing) == len(scrapes):
            raise Unreachable(failing[0])
        return Notes(warnings=tuple(dict.fromkeys(failing)))


def _parsed(queries: Sequence[Query]) -> tuple[dict[Subject, Node], dict[Subject, str]]:
    trees, problems = {}, {}
    for query in queries:
        try:
            trees[query.subject] = parse(query.expression)
        except UnsupportedExpression as error:
            problems[query.subject] = str(error)
    return trees, problems


def _reach(node: Node) -> float:
    """Seconds that an expression looks back."""
    if isinstance(node, Selector):
        return node.range_s or 0.0
    if isinstance(node, Subquery):
        return node.range_s + node.step_s + _reach(node.inner)
    if isinstance(node, Binary):
        return max(_reach(node.left), _reach(node.right))
    if isinstance(node, Aggregate | Negative):
        return _reach(node.inner)
    if isinstance(node, Call):
        return max((_reach(argument) for argument in node.arguments), default=0.0)
    return 0.0


def _over_time(tree: Node, tracks: Tracks, moments: Sequence[float]) -> tuple[TimeSeries, ...]:
    points: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    for moment in moments:
        for sample in evaluate(tree, tracks, moment):
            points.setdefault(tuple(sorted(sample.labels.items())), []).append((moment, sample.value))
    return tuple(
        TimeSeries(labels=dict(key), times_s=tuple(t for t, _ in line), values=tuple(v for _, v in line))
        for key, line in points.items()
    )
