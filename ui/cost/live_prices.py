"""What a GPU is rented for today, looked up on a click; offline and without the package the page says so."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from collectors.prices import hunt
from collectors.prices.offers import Fetch, Offers, Reason, offers_of
from sizing.catalog import gpus
from ui.currency import Currency
from ui.format import as_markdown, known

WITHIN_S = 15.0
"""Seconds that all providers have. Chosen: as long as somebody waits for a button."""

SHOWN = 100
"""Offers in the table: the cheapest."""

_LAST = "live_prices"

WHY: dict[Reason, str] = {
    "not_installed": "The package for live prices is not installed: pip install -r requirements-prices.txt.",
    "offline": "No provider can be reached from here: the prices above are those of the catalogue.",
    "too_slow": f"No provider answered within {WITHIN_S:.0f} seconds: the prices above are those of the catalogue.",
    "broken": "No provider gave an answer that can be read: the prices above are those of the catalogue.",
}


def names_of(gpu_id: str) -> tuple[str, ...]:
    """What providers may call a GPU: its aliases without blanks."""
    gpu = gpus().get(gpu_id)
    return () if gpu is None else tuple(sorted({alias.replace(" ", "").upper() for alias in gpu.aliases}))


def draw_live_prices(gpu_id: str, currency: Currency, fetch: Fetch | None = None) -> None:
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
            answer = offers_of(names, fetch or hunt.fetch, providers=hunt.PROVIDERS, within_s=WITHIN_S)
        st.session_state[_LAST] = (gpu_id, answer)
    asked_of, last = st.session_state.get(_LAST, ("", None))
    if last is not None and asked_of == gpu_id:
        _draw(last, currency)


def _draw(answer: Offers, currency: Currency) -> None:
    reason = answer.only_reason
    if reason is not None:
        st.info(WHY[reason], icon=":material/cloud_off:")
        return
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
        "As providers name the GPU: SXM and PCIe are not told apart. To size with one of these prices, type it under "
        "“Change inputs”."
    )


def offers_table(answer: Offers, currency: Currency) -> pd.DataFrame:
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
