"""Clients of a server that answers as told."""

from collectors.prometheus import Access, Clock, Fetcher, FetchLimits, PrometheusClient
from tests.collectors.servers import Server, Told

NO_WAIT = Clock(wait=lambda _: None)


def client_of(
    url: str, *, access: Access | None = None, limits: FetchLimits | None = None, **more: object
) -> PrometheusClient:
    fetcher = Fetcher(access=access, limits=limits or FetchLimits(timeout_s=30), clock=NO_WAIT)
    return PrometheusClient(url, fetcher=fetcher, **more)  # type: ignore[arg-type]


def answering(server: Server, *told: Told) -> PrometheusClient:
    """A client of a server that gives these answers in turn, the last one for ever."""
    left = list(told)
    server.answer = lambda asked: left.pop(0) if len(left) > 1 else left[0]
    return client_of(server.url)
