"""Telling a webhook what a comparison says, under the address rules of sources of live data."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from collectors.errors import InvalidSource, SourceError
from collectors.prometheus import Fetcher, FetchLimits
from collectors.prometheus.address import check_url
from collectors.prometheus.fetch import DEFAULT_PORTS, status_problem
from reality.result import RealityComparison

TIMEOUT_S = 10.0
"""How long the whole exchange may take. Chosen: as long as one with a source."""
REFUSED_FROM = 300
"""HTTP status from which the webhook has not taken what it was told; redirects stay on its host."""


@dataclass(frozen=True)
class Webhook:
    """An HTTP address that is told every comparison as JSON."""

    url: str
    fetcher: Fetcher

    def tell(self, comparison: RealityComparison, last_good: str) -> str:
        """Post it; returns "" or the sentence why it was not taken."""
        try:
            reply = self.fetcher.post_json(self.url, message(comparison, last_good))
        except SourceError as error:
            return f"The webhook was not told: {error}"
        if reply.status < REFUSED_FROM:
            return ""
        parts = urlsplit(self.url)
        where = f"{parts.hostname}:{parts.port or DEFAULT_PORTS[parts.scheme]}"
        return f"The webhook was not told: {status_problem(reply.status, where)}"


def webhook(url: str) -> Webhook:
    """A webhook at an address that may be talked to. Raises InvalidSource with the sentence why not."""
    try:
        check_url(url)
    except SourceError as error:
        raise InvalidSource([f"--webhook: {error}"]) from None
    return Webhook(
        url=url.strip(), fetcher=Fetcher(limits=FetchLimits(timeout_s=TIMEOUT_S), use_environment_proxy=True)
    )


def message(comparison: RealityComparison, last_good: str) -> dict[str, object]:
    """What is posted: ``text`` is the finding as chat services show it; rows that are off with both values."""
    off = [
        {
            "key": row.key,
            "verdict": row.verdict,
            "measured": row.measured.value,
            "predicted": row.predicted.value,
            "unit": row.unit,
        }
        for row in comparison.performance
        if row.verdict in ("higher", "lower")
    ]
    return {
        "text": f"{comparison.scenario}: {comparison.answer}{f' {last_good}' if last_good else ''}",
        "scenario": comparison.scenario,
        "source": comparison.source,
        "at": comparison.at,
        "window_s": comparison.window_s,
        "state": comparison.state,
        "judged": comparison.judged,
        "reasons": list(comparison.reasons),
        "off": off,
    }
