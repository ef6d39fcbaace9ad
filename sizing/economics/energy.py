"""Electricity of a way to get the capacity, and the carbon of the grid that it comes from."""

from __future__ import annotations

from sizing.base.units import G_PER_KG
from sizing.economics.amount import Amount
from sizing.economics.assumptions import CARBON, Assumptions, cloud_carbon
from sizing.economics.on_prem import energy_kwh
from sizing.economics.views import View


def energy_of(view: View, assumed: Assumptions) -> Amount | None:
    """kWh in a month, cooling and losses included; None where the power is not known, as behind an API."""
    return None if view.power_kw is None else energy_kwh(view.power_kw, assumed)


def carbon_of(view: View, assumed: Assumptions) -> Amount | None:
    """kg of CO2 equivalent in a month: ``kWh x g/kWh / 1000``; None where energy or grid are not known.

    The grid is that of the scenario; of instances in a region for which the provider publishes a figure, that one.
    """
    energy, grid = energy_of(view, assumed), assumed[CARBON]
    published = cloud_carbon(view.provider, view.place) if view.name == "cloud" else None
    if published is not None and published.typical is not None and grid.basis != "scenario":
        per_kwh: Amount | None = Amount.exactly(published.typical)
    else:
        per_kwh = grid.amount
    return None if energy is None or per_kwh is None else energy * per_kwh * (1.0 / G_PER_KG)
