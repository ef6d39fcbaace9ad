"""A Prometheus that answers from a feed: what the client sends is what it understands, and it fails on demand."""

import threading

from collectors.queries.query import of_source
from tests.collectors.feeds import NOW, Feed
from tests.collectors.servers import Asked, Told, recorded, success

LONGEST_HOLD_S = 20.0
MOMENTS = ("now", "newest", "newest_lately", "newest_now", "oldest", "oldest_lately", "oldest_hour", "past")
"""Expressions whose value is a moment."""


class FakePrometheus:
    """Answers the queries of our client from a feed, as a Prometheus would; a test may break it.

    ``shift_s`` moves its clock, and its data with it: a feed lives in the year 2027.
    """

    def __init__(self, feed: Feed, *, shift_s: float = 0.0) -> None:
        self._feed = feed
        self.now_s, self.shift_s = NOW, shift_s
        self.fault: Told | None = None
        self.hold: threading.Event | None = None
        self.extra: dict[str, object] = {}
        self.reject: str | None = None

    @property
    def feed(self) -> Feed:
        """What it answers from. Another feed is there from a second later on: about one moment there is one answer."""
        return self._feed

    @feed.setter
    def feed(self, feed: Feed) -> None:
        self._feed = feed
        self.now_s += 1.0

    def __call__(self, asked: Asked) -> Told:
        if self.hold is not None:
            self.hold.wait(LONGEST_HOLD_S)
        if self.fault is not None:
            return self.fault
        expression = asked.form["query"][0]
        if self.reject is not None and self.reject in expression:
            return recorded("prom_api/probe_err_many_to_many_422.json")
        if asked.path.endswith("query_range"):
            grid = {key: float(asked.form[key][0]) for key in ("start", "end", "step")}
            return self._range(unjoined(expression), grid)
        at_s = float(asked.form.get("time", [str(self.now_s + self.shift_s)])[0])
        result = []
        for key, text in unjoined(expression).items():
            query = of_source(key, text)
            for sample in self.feed.backend.vectors([query], at_s=at_s - self.shift_s).of(query.subject):
                value = self._text(key, sample.value)
                result.append({"metric": dict(sample.labels) | {"concept_": key}, "value": [at_s, value]})
        return success({"resultType": "vector", "result": result}, **self.extra)

    def _text(self, key: str, value: float) -> str:
        """A value as the API writes it; those that are moments in time are moved as the clock is."""
        return "NaN" if value != value else repr(value + (self.shift_s if key in MOMENTS else 0.0))

    def _range(self, asked: dict[str, str], grid: dict[str, float]) -> Told:
        queries = [of_source(key, text) for key, text in asked.items()]
        start_s, end_s = grid["start"] - self.shift_s, grid["end"] - self.shift_s
        found = self.feed.backend.ranges(queries, start_s=start_s, end_s=end_s, step_s=grid["step"])
        result = [
            {
                "metric": dict(series.labels) | {"concept_": key},
                "values": [
                    [t + self.shift_s, self._text(key, v)] for t, v in zip(series.times_s, series.values, strict=True)
                ],
            }
            for key, several in ((subject.label, several) for subject, several in found.series.items())
            for series in several
        ]
        return success({"resultType": "matrix", "result": result}, **self.extra)


def unjoined(expression: str) -> dict[str, str]:
    """The expressions that were joined into one query."""
    found = {}
    for part in expression.split("label_replace(")[1:]:
        text, _, rest = part.rpartition(', "concept_", "')
        found[rest.split('"')[0]] = text
    return found
