"""What a scenario may say about money beyond list prices of hardware: every constant of the cost model, by its name."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from sizing.base.choices import HybridBase, OptionalPart, Purchase
from sizing.catalog.payment_terms import TERMS
from sizing.scenario.part import Name, ScenarioPart, Usd

Percent = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Residual = Annotated[float, Field(ge=0, le=90, allow_inf_nan=False)]
"""Percent of a purchase; at 100 % nothing would be written off."""

Facility = Literal["own", "colocation"]
"""Where servers stand: in a data centre of one's own, of which power alone is counted, or in a rented one."""
Licence = Literal["none", "nvidia_ai_enterprise"]
"""Software that is paid for by the GPU."""


class ApiChoice(ScenarioPart):
    """A model behind an API: one of the price list by provider and name, or its prices in USD per million tokens.

    Without any of them: the cheapest provider of the same open-weights model.
    """

    provider: Name | None = None
    model: Name | None = None
    input_usd_per_mtok: Usd | None = None
    cached_input_usd_per_mtok: Usd | None = None
    output_usd_per_mtok: Usd | None = None

    @model_validator(mode="after")
    def _whole_price(self) -> ApiChoice:
        if (self.input_usd_per_mtok is None) != (self.output_usd_per_mtok is None):
            raise ValueError("give input_usd_per_mtok and output_usd_per_mtok together")
        if self.cached_input_usd_per_mtok is not None and self.input_usd_per_mtok is None:
            raise ValueError("cached_input_usd_per_mtok stands beside input_usd_per_mtok and output_usd_per_mtok")
        return self

    @property
    def chosen(self) -> bool:
        """Whether the scenario names a provider or model, or states prices."""
        return self.own or self.provider is not None or self.model is not None

    @property
    def own(self) -> bool:
        """Whether the scenario states the prices of the API itself."""
        return self.input_usd_per_mtok is not None


class RoutedShare(ScenarioPart):
    """A share of the requests that goes elsewhere: to a smaller model on hardware of its own, or to an API."""

    percent: Annotated[float, Field(gt=0, lt=100, allow_inf_nan=False)]
    model: Name | None = None
    api: ApiChoice | None = None

    @model_validator(mode="after")
    def _one_place(self) -> RoutedShare:
        if (self.model is None) == (self.api is None):
            raise ValueError("give either model, to run a smaller one, or api")
        return self


class Rent(NamedTuple):
    """From whom and how GPUs are rented; None is any provider, any region, the discount that is usual."""

    provider: str | None = None
    region: str | None = None
    purchase: Purchase = "on_demand"
    discount_percent: float | None = None

    @property
    def somewhere(self) -> bool:
        """Whether a provider or a region is asked for."""
        return self.provider is not None or self.region is not None


class Costs(ScenarioPart):
    """Constants of the cost model; one left out is that of ``cost_assumptions.yaml``.

    ``leave_out``: parts that are not to be counted, whatever their constants; with all of them what is left is hardware
    and power only. ``ramp_up_months``: over so many months the load grows evenly to the planned one; what is owned or
    committed to is paid for from the first. ``spot_interruption_percent``: what spot instances cost on top of their
    price; left out, it follows from the other constants of spot (:mod:`sizing.economics.spot`).
    """

    region: Name | None = None
    electricity_usd_per_kwh: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] | None = None
    carbon_g_per_kwh: Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)] | None = None
    pue: Annotated[float, Field(ge=1, le=10, allow_inf_nan=False)] | None = None
    power_utilization: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    idle_power_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    facility: Facility = "own"
    colocation_usd_per_kw_month: Usd | None = None
    switches_percent: Percent | None = None
    storage_percent: Percent | None = None
    support_percent_per_year: Percent | None = None
    capital_charge_percent_per_year: Percent | None = None
    licence: Licence = "none"
    licence_usd_per_gpu_year: Usd | None = None
    licence_usd_per_gpu_hour: Usd | None = None
    staff_usd_per_month: Usd | None = None
    staff_rented_usd_per_month: Usd | None = None
    leave_out: Annotated[tuple[OptionalPart, ...], Field(max_length=20)] = ()
    discount_percent_per_year: Percent | None = None
    residual_percent: Residual | None = None
    purchase: Purchase = "on_demand"
    cloud_provider: Name | None = None
    cloud_region: Name | None = None
    reserved_1y_discount_percent: Share | None = None
    reserved_3y_discount_percent: Share | None = None
    spot_interruption_percent: Percent | None = None
    spot_interrupted_percent_per_month: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)] | None = None
    spot_without_capacity_percent: Share | None = None
    spot_zones: int | None = Field(default=None, ge=1, le=12)
    spot_held_percent: Annotated[float, Field(ge=50, le=99.9999, allow_inf_nan=False)] | None = None
    hybrid_base: HybridBase = "on_prem"
    burst_start_up_minutes: Annotated[float, Field(ge=0, le=1440, allow_inf_nan=False)] | None = None
    growth_percent_per_year: Percent = 0.0
    ramp_up_months: Annotated[int, Field(ge=0, le=36)] = 0
    api: ApiChoice = ApiChoice()
    routing: RoutedShare | None = None

    @property
    def rent(self) -> Rent:
        """From whom and how what is planned in the cloud is rented."""
        discount = TERMS[self.purchase].discount
        given = getattr(self, discount) if discount else None
        return Rent(self.cloud_provider, self.cloud_region, self.purchase, given)
