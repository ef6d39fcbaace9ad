"""The smaller tables of facts: prices, quantization methods, cost of ownership, use cases.

Field names are the column names of the CSV files in ``sizing/data``. None means that the source does not say.
"""

from dataclasses import dataclass
from datetime import date as Day  # a field is called date
from functools import cache
from typing import Literal

from sizing.base.choices import PriceBasis
from sizing.catalog.files import typed_rows

OfferUse = Literal["yes", "check", "no"]
"""Whether an offer prices its model unasked, only where a scenario names it, or not at all (``api_offers.yaml``)."""


@dataclass(frozen=True, kw_only=True)
class ApiPrice:
    """What a provider asks for a hosted model, in USD per million tokens.

    ``catalogue_model`` is the model of the catalogue whose weights it serves, "" for a closed model. From
    ``deprecation_date`` on (ISO 8601) it is no longer sold; "" where no such day is announced. ``use_note`` says why an
    offer prices nothing unasked.
    """

    provider: str
    model: str
    catalogue_model: str
    input_usd_per_mtok: float
    output_usd_per_mtok: float
    cached_input_usd_per_mtok: float | None
    deprecation_date: str
    open_weights: bool
    use: OfferUse
    use_note: str
    provider_price_page: str
    date: str
    source: str

    def sold_on(self, day: Day) -> bool:
        """Whether it is still sold on a day."""
        return not self.deprecation_date or day < Day.fromisoformat(self.deprecation_date)


@dataclass(frozen=True, kw_only=True)
class QuantizationFact:
    """One published fact on a quantization method (``record_type``: method, speed, accuracy, size or guide).

    ``speedup_batch1``, ``8``, ``64``: tokens/s over those of the 16-bit model at so many requests in flight, on
    ``hardware_setup``. ``loss_points`` is ``loss`` as a number, per cent or points as the metric says. A guide grades
    gains, accuracy impact and the time of a calibration in words.
    """

    record_type: str
    method: str
    model: str
    metric: str
    baseline: str
    quantized: str
    loss: str
    loss_points: float | None
    speedup_batch1: float | None
    speedup_batch8: float | None
    speedup_batch64: float | None
    hardware_setup: str
    small_batch_gain: str
    large_batch_gain: str
    accuracy_impact: str
    calibration_time: str
    source: str
    date: str
    notes: str


@dataclass(frozen=True, kw_only=True)
class TcoFact:
    """One published cost or carbon figure with its range; ``unit`` is part of the fact."""

    category: str
    item: str
    region: str
    low: float | None
    typical: float | None
    high: float | None
    unit: str
    date: str
    source: str
    notes: str


@dataclass(frozen=True, kw_only=True)
class UseCase:
    """Published prompt and output lengths (tokens) and latency targets (ms).

    Kept as the text of the source, because many are ranges or remarks ("500-2000", "none", "mean 294").
    """

    use_case: str
    isl_tokens: str
    osl_tokens: str
    percentile: str
    kind: str
    source: str
    source_date: str
    notes: str


@dataclass(frozen=True, kw_only=True)
class StreetPrice:
    """Price in USD of ``gpus_per_price`` accelerators (2 in a superchip, 8 on a baseboard) of one edition.

    ``edition`` is "not stated" where the source leaves open which of several it means: that prices none of them.
    ``superseded`` is the date of the price that has taken its place, "" where it still holds.
    """

    gpu_id: str
    edition: str
    price_usd_low: float | None
    price_usd_high: float | None
    basis: PriceBasis
    gpus_per_price: int
    date: str
    source: str
    superseded: str
    notes: str


@dataclass(frozen=True, kw_only=True)
class PublishedLeadTime:
    """How long an accelerator takes to be delivered, in weeks, or what else is published about having it."""

    gpu_id: str
    weeks_low: float | None
    weeks_high: float | None
    statement: str
    source: str
    date: str
    notes: str


@cache
def api_prices() -> tuple[ApiPrice, ...]:
    """List prices of hosted models, in file order."""
    return typed_rows("api_prices.csv", ApiPrice)


@cache
def quantization() -> tuple[QuantizationFact, ...]:
    """Facts on quantization methods, in file order."""
    return typed_rows("quantization.csv", QuantizationFact)


@cache
def tco() -> tuple[TcoFact, ...]:
    """Cost-of-ownership and carbon facts, in file order."""
    return typed_rows("tco.csv", TcoFact)


@cache
def use_cases() -> tuple[UseCase, ...]:
    """Published lengths and latency targets per use case, in file order."""
    return typed_rows("use_cases.csv", UseCase)


@cache
def street_prices() -> tuple[StreetPrice, ...]:
    """Prices of single accelerators, in file order."""
    return typed_rows("gpu_street_prices.csv", StreetPrice)


@cache
def lead_times() -> tuple[PublishedLeadTime, ...]:
    """Delivery times of accelerators, in file order."""
    return typed_rows("lead_times.csv", PublishedLeadTime)
