"""What a GPU is rented for today, looked up on a click; offline and without the package the page says so."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import pandas as pd
import streamlit as st

from collectors.prices import offers
from collectors.prices.offers import Fetch, NoOffersReason, Offer, ProviderOffers, offers_of
from sharing.form.problems import sentence
from sizing.base.errors import SizingError
from sizing.base.format import counted
from sizing.catalog import gpus
from sizing.question.understand import understand
from sizing.scenario.prices import GpuHourPrice
from sizing.scenario.schema import Scenario
from ui import state
from ui.cost.price_book import today, use
from ui.cost.price_rows import with_price
from ui.currency import Currency
from ui.format import as_markdown, known

WITHIN_S = 15.0
"""Seconds that all providers have. Chosen: as long as somebody waits for a button."""

SHOWN = 100
"""Offers in the table: the cheapest."""

_LAST, _PROBLEM = "live_prices", "live_offer_problem"


@dataclass(frozen=True, kw_only=True)
class _LookedUp:
    """What was answered last of a GPU, and before that with offers and when."""

    gpu: str
    last: ProviderOffers
    offered: ProviderOffers | None
    day: date


NOBODY = "No provider answered: the prices above are those of the catalogue."

EARLIER = "The offers below are those of the last time that providers answered, {day}."

WHY: dict[NoOffersReason, str] = {
    "not_installed": "The package for live prices is not installed: pip install -r requirements-prices.txt.",
    "offline": "No provider can be reached from here: the prices above are those of the catalogue.",
    "too_slow": f"No provider answered within {WITHIN_S:.0f} seconds: the prices above are those of the catalogue.",
    "broken": "No provider gave an answer that can be read: the prices above are those of the catalogue.",
}


def names_of(gpu_id: str) -> tuple[str, ...]:
    """What providers may call a GPU: its aliases without blanks."""
    gpu = gpus().get(gpu_id)
    return () if gpu is None else tuple(sorted({alias.replace(" ", "").upper() for alias in gpu.aliases}))


def draw_live_prices(gpu_id: str, scenario: Scenario, currency: Currency, fetch: Fetch | None = None) -> None:
    """A button that asks the providers, and what they last answered in this session."""
    names = names_of(gpu_id)
    if not names:
        return
    st.markdown("**Rented today**")
    if st.button(
        "Look up live prices",
        key="live_prices_now",
        icon=":material/cloud_download:",
        help="Asks providers over the network, on this click only. Nothing of the scenario is sent.",
    ):
        with st.spinner("Asking providers"):
            answer = offers_of(names, fetch or offers.fetch, providers=offers.PROVIDERS, within_s=WITHIN_S)
        st.session_state[_LAST] = _after(_of(gpu_id), gpu_id, answer)
    if (seen := _of(gpu_id)) is not None:
        _draw(seen, currency)
        if seen.offered is not None:
            _draw_adopting(seen, seen.offered.offers[:SHOWN], scenario, currency)


def _of(gpu_id: str) -> _LookedUp | None:
    """What was looked up of a GPU in this session, if it was the last."""
    seen = st.session_state.get(_LAST)
    return seen if isinstance(seen, _LookedUp) and seen.gpu == gpu_id else None


def _after(before: _LookedUp | None, gpu_id: str, answer: ProviderOffers) -> _LookedUp:
    """The new answer; where nobody answered, with the offers that were there before."""
    if answer.answered or before is None:
        return _LookedUp(gpu=gpu_id, last=answer, offered=answer if answer.offers else None, day=today())
    return replace(before, last=answer)


def _draw_adopting(seen: _LookedUp, offers: Sequence[Offer], scenario: Scenario, currency: Currency) -> None:
    """A choice of one offer, and the button that puts its price into the price book."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Offer",
            range(len(offers)),
            key="live_offer",
            format_func=lambda at: _named(offers[at], currency),
            width=420,
            help="Its price, with provider, region and date, becomes your list price of this GPU, rented.",
        )
        st.button(
            "Use this price",
            key="live_offer_use",
            icon=":material/add_shopping_cart:",
            on_click=_adopt,
            args=(offers[chosen], seen.gpu, scenario, seen.day),
        )
    if problem := st.session_state.get(_PROBLEM):
        st.error(as_markdown(problem), icon=":material/error:")


def _named(offer: Offer, currency: Currency) -> str:
    each = currency.written(currency.of(offer.usd_per_gpu_hour))
    gpus = counted(offer.gpus, "GPU")
    return f"{each} per GPU-hour: {offer.provider} {offer.region}, {gpus}{', spot' if offer.spot else ''}"


def price_of(offer: Offer, gpu_id: str, day: date) -> GpuHourPrice:
    """The offer as a price of the price book: where it is rented, and when it was looked up."""
    spot = ", spot" if offer.spot else ""
    return GpuHourPrice(
        gpu=gpu_id,
        usd=offer.usd_per_gpu_hour,
        provider=offer.provider,
        region=offer.region,
        gpus=offer.gpus,
        source=f"{offer.provider} {offer.instance} in {offer.region}{spot}, looked up through gpuhunt"[:300],
        date=day,
    )


def _adopt(offer: Offer, gpu_id: str, scenario: Scenario, day: date) -> None:
    """Rent at this price from now on (for callbacks): it takes the place of one that was typed into the form."""
    st.session_state.pop(_PROBLEM, None)
    prices, typed = scenario.prices, understand(scenario).prices.gpu == gpu_id
    if typed:
        prices = prices.model_copy(update={"gpu": None, "gpu_hour_usd": None})
    listed = with_price(prices.listed, price_of(offer, gpu_id, day))
    try:
        use(scenario, prices.model_copy(update={"listed": listed}))
    except SizingError as error:
        st.session_state[_PROBLEM] = sentence(error)
        return
    if typed:
        state.write({"usd_gpu": "", "usd_hour": ""})
    st.session_state["cost_purchase"] = "spot" if offer.spot else "on_demand"


def _draw(seen: _LookedUp, currency: Currency) -> None:
    answer = seen.last
    if not answer.answered:
        reason = answer.only_reason
        st.info(NOBODY if reason is None else WHY[reason], icon=":material/cloud_off:")
        if seen.offered is None:
            return
        st.caption(EARLIER.format(day=seen.day.isoformat()))
        answer = seen.offered
    if answer.failures:
        silent = ", ".join(f"{one.provider} ({one.reason.replace('_', ' ')})" for one in answer.failures)
        st.caption(as_markdown(f"Without {silent}."))
    if not answer.offers:
        st.info("No provider that answered offers this GPU.", icon=":material/search_off:")
        return
    st.dataframe(
        offers_table(answer, currency), hide_index=True, placeholder="", key="live_offers", alt="Offers of today"
    )
    st.caption(
        "As providers name the GPU: SXM and PCIe are not told apart. A price that is used stands in the price book "
        "above, where a negotiated one comes before it."
    )


def offers_table(answer: ProviderOffers, currency: Currency) -> pd.DataFrame:
    """One row per offer, the cheapest GPU-hour first."""
    rows: Sequence[dict[str, object]] = [
        {
            "Provider": one.provider,
            "Instance": one.instance,
            "Region": one.region,
            "GPUs": one.gpus,
            f"{currency.code} per GPU-hour": known(currency.of(one.usd_per_gpu_hour)),
            f"{currency.code} per hour": known(currency.of(one.usd_per_hour)),
            "Spot": one.spot,
        }
        for one in answer.offers[:SHOWN]
    ]
    return pd.DataFrame(rows)
