"""A client of the Prometheus HTTP API on requests."""

from collectors.prometheus.access import Access, Secret, Tls
from collectors.prometheus.client import PrometheusClient
from collectors.prometheus.fetch import Clock, Fetcher, Limits

__all__ = ["Access", "Clock", "Fetcher", "Limits", "PrometheusClient", "Secret", "Tls"]
