"""A client of the Prometheus HTTP API on requests."""

from collectors.prometheus.access import Access, Secret, Tls
from collectors.prometheus.client import PrometheusClient
from collectors.prometheus.fetch import Clock, Fetcher, FetchLimits

__all__ = ["Access", "Clock", "FetchLimits", "Fetcher", "PrometheusClient", "Secret", "Tls"]
