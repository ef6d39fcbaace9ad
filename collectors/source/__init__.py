"""SOURCE.yaml: where live data comes from, and what of it belongs to one deployment."""

from collectors.source.file import load_source, source_from
from collectors.source.schema import PrometheusSource, ScrapeSource, Source

__all__ = ["PrometheusSource", "ScrapeSource", "Source", "load_source", "source_from"]
