"""Money per request and per million tokens: of all that is provisioned, of what is used, at full load, of the next."""

from collections.abc import Callable

from sizing.base.units import HOURS_PER_MONTH, S_PER_HOUR
from sizing.economics.fleet import PricedFleet
from sizing.economics.month import Month
from sizing.economics.results import UnitCost
from sizing.economics.views import View
from sizing.prices.cost import usd_per_million


def per_unit(usd: float, requests: float, month: Month) -> UnitCost:
    """``USD / requests`` and ``USD / tokens x 10^6``, at the mean lengths; blended: prompt and answer."""
    tokens = (month.input_tokens, month.output_tokens, month.input_tokens + month.output_tokens)
    prompts, answers, blended = (usd_per_million(usd, requests * each) or 0.0 for each in tokens)
    return UnitCost(
        usd_per_request=usd / requests,
        usd_per_million_input_tokens=prompts,
        usd_per_million_output_tokens=answers,
        usd_per_million_blended_tokens=blended,
    )


def utilization(view: View, month: Month) -> float:
    """Requests of the month as a share of what the capacity could serve; 1 where nothing is provisioned."""
    return 1.0 if view.capacity_requests is None else min(month.requests / view.capacity_requests, 1.0)


def used_usd_per_month(view: View, month: Month) -> float:
    """The share of the cost whose capacity is in use: ``USD per month x utilisation``; the rest pays idle hours."""
    return view.usd_per_month.value * utilization(view, month)


def at_capacity(view: View, month: Month) -> UnitCost:
    """As if everything provisioned served all that it can, day and night: what is used costs just that."""
    requests = month.requests if view.capacity_requests is None else view.capacity_requests
    return per_unit(view.usd_per_month.value, requests, month)


def at_full_load(flat: View, fleet: PricedFleet, month: Month) -> UnitCost:
    """As if the planned peak lasted day and night; ``flat`` is what such a month costs."""
    if flat.capacity_requests is None:
        return per_unit(flat.usd_per_month.value, month.requests, month)
    return per_unit(flat.usd_per_month.value, fleet.peak_rps * S_PER_HOUR * HOURS_PER_MONTH, month)


def marginal(view: View, fleet: PricedFleet, month: Month) -> UnitCost:
    """What further requests cost that need the next system, busy over the day as the others are.

    ``(USD per month - staff) / systems`` over the requests that a full system serves in a month at the mean share of
    its peak; behind an API every request costs the same.
    """
    if view.systems is None or view.systems.value <= 0 or view.gpus_per_system <= 0:
        return per_unit(view.usd_per_month.value, month.requests, month)
    staff = view.parts["staff"].value if "staff" in view.parts else 0.0
    usd = (view.usd_per_month.value - staff) / view.systems.value
    rps = _rps_of_a_system(fleet, view.gpus_per_system)
    requests = rps * S_PER_HOUR * HOURS_PER_MONTH * month.share_of_peak(fleet.peak_rps)
    return per_unit(usd, requests, month)


def marginal_of_load(now: View, way: Callable[[float], View], fleet: PricedFleet, month: Month) -> UnitCost:
    """What further requests cost where the mix changes with the load: as many as a full system of the base serves.

    ``(USD per month at the larger load - USD per month now) / requests more``.
    """
    more = _rps_of_a_system(fleet, now.gpus_per_system or fleet.largest) / fleet.peak_rps
    usd = way(1.0 + more).usd_per_month.value - now.usd_per_month.value
    return per_unit(usd, month.requests * more, month)


def _rps_of_a_system(fleet: PricedFleet, gpus: int) -> float:
    """Requests/s of one system full of instances; of two kinds, its share of what all GPUs carry together."""
    if len(fleet.kinds) > 1:
        return fleet.max_rps / fleet.gpus * gpus
    kind = fleet.kinds[0]
    return kind.max_rps * (gpus // kind.gpus) if kind.gpus <= gpus else kind.max_rps / -(-kind.gpus // gpus)
