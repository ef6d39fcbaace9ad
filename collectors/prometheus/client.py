"""The Prometheus HTTP API: Prometheus, Thanos, Mimir, VictoriaMetrics and managed services behind one client."""

import math
from collections.abc import Mapping
from typing import Any

from collectors.errors import SourceError, UnusableAnswer
from collectors.prometheus.address import check_url
from collectors.prometheus.answers import Matrix, Vector, read_json, read_notes, read_series, read_vector
from collectors.prometheus.fetch import DEFAULT_PORTS, Fetcher, Reply, status_problem
from collectors.prometheus.promql import MAX_POINTS, step_for


class PrometheusClient:
    """Queries one server. ``url`` may carry a path prefix (/prometheus for Mimir); ``params`` go with every request."""

    def __init__(
        self, url: str, *, fetcher: Fetcher, params: Mapping[str, str] | None = None, allow_link_local: bool = False
    ) -> None:
        parts = check_url(url, allow_link_local=allow_link_local)
        self._base = url.strip().rstrip("/")
        self._params = dict(params or {})
        self._fetcher = fetcher
        self.where = f"{parts.hostname}:{parts.port or DEFAULT_PORTS[parts.scheme]}"

    def __repr__(self) -> str:
        return f"PrometheusClient({self._base!r})"

    def close(self) -> None:
        """Close idle connections."""
        self._fetcher.close()

    def query(self, expression: str, *, at_s: float | None = None) -> Vector:
        """An instant query. Raises SourceError."""
        form: dict[str, object] = {"query": expression}
        if at_s is not None:
            form["time"] = f"{at_s:.3f}"
        return read_vector(self._post("query", form), self.where)

    def query_range(
        self, expression: str, *, start_s: float, end_s: float, step_s: float | None = None, interval_s: float = 1.0
    ) -> Matrix:
        """A range query of at most 1,000 points; start and end are aligned to the step. Raises SourceError."""
        least = step_for(end_s - start_s, interval_s=interval_s)
        step = least if step_s is None else max(step_s, (end_s - start_s) / (MAX_POINTS - 1))
        start, end = math.floor(start_s / step) * step, math.floor(end_s / step) * step
        form = {"query": expression, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        document = self._post("query_range", form)
        series = read_series(document, self.where)
        return Matrix(series=series, start_s=start, end_s=end, step_s=step, notes=read_notes(document))

    def _post(self, path: str, form: Mapping[str, object]) -> dict[str, Any]:
        return self._document(self._fetcher.post(f"{self._base}/api/v1/{path}", {**self._params, **form}))

    def _document(self, reply: Reply) -> dict[str, Any]:
        """The document of a reply, whatever its status; raises the error it stands for when it is no success."""
        if reply.status >= 300:
            raise status_problem(reply.status, self.where, _detail(reply))
        document = read_json(reply.body, self.where)
        if document["status"] != "success":
            raise UnusableAnswer(f"{self.where} answered with an error: {str(document.get('error'))[:300]}.")
        return document


def _detail(reply: Reply) -> str:
    """What the server says about its error, when it says it in JSON."""
    try:
        return str(read_json(reply.body, "").get("error", ""))[:300].rstrip(".")
    except SourceError:
        return ""
