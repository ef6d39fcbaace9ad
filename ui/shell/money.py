"""The currency of a page, kept by the session; and prices of the user's own, which downloads leave out unless asked."""

from datetime import UTC, datetime

import streamlit as st
from babel.numbers import get_decimal_symbol

from sharing.form.numbers import NotANumber, parse_number
from sizing.economics.dates import STALE_AFTER_DAYS
from ui.currency import DOLLARS, LOCALES, Currency, rates
from ui.format import as_markdown

_CODE, _LOCALE, _RATE, _KEPT = "currency", "number_locale", "rate_{}", "rate_kept_{}"
_IN_USD = " The answer in the box above stays in USD."

WITHHELD = "downloads_withheld"
"""Session key: whether tables of this page may not be downloaded: prices of the user's own stand behind them."""

_ASKED = "downloads_with_own_prices"


NO_FILES = """<style>
[data-testid="stElementToolbarButton"]:has(button[aria-label^="Download as CSV"]) { display: none; }
.modebar .modebar-btn[data-title^="Download plot"] { display: none !important; }
</style>"""
"""Hides the buttons for files that Streamlit gives every table and Plotly every chart. By style, because Streamlit's
own setting for that is one for all sessions."""


def draw_currency(*, below_an_answer: bool = True) -> Currency:
    """The choice of a currency behind a click. A rate that cannot be is refused, and the last one stays.

    ``below_an_answer``: whether the page starts with the answer, which is always in USD.
    """
    with st.popover("Currency", icon=":material/payments:", help="What amounts on this page are shown in."):
        code = st.selectbox(
            "Currency",
            list(rates()),
            key=_CODE,
            persist_state="session",
            help="Everything is computed in USD; this changes what is shown and downloaded.",
        )
        rate = st.container()  # above the other field: what is wrong with a rate would stand below the fold
        locale = st.selectbox(
            "Numbers",
            list(LOCALES),
            key=_LOCALE,
            persist_state="session",
            format_func=LOCALES.__getitem__,
            help="How amounts are written in sentences and charts; a download has plain numbers.",
        )
        with rate:
            per_usd = 1.0 if code == DOLLARS.code else _rate(code, locale)
    currency = Currency(code=code, per_usd=per_usd, locale=locale)
    if code != DOLLARS.code:
        st.caption(as_markdown(_dated(currency) + (_IN_USD if below_an_answer else "")))
    return currency


def chosen_currency() -> Currency:
    """What was chosen last, on a page that does not draw the choice."""
    code, locale = st.session_state.get(_CODE, DOLLARS.code), st.session_state.get(_LOCALE, DOLLARS.locale)
    listed = rates()[code].per_usd
    return Currency(code=code, per_usd=st.session_state.get(_KEPT.format(code), listed), locale=locale)


def _rate(code: str, locale: str) -> float:
    """What was typed where that is a rate, with a comma where the country writes one, else the last one that was."""
    last: float = st.session_state.get(_KEPT.format(code), rates()[code].per_usd)
    text = st.text_input(
        f"Exchange rate ({code} for 1 USD)",
        value=f"{rates()[code].per_usd:.6g}",
        key=_RATE.format(code),
        persist_state="session",
        help="Type the rate of today.",
    )
    try:
        point = text.replace(get_decimal_symbol(locale), ".")
        rate = Currency(code=code, per_usd=parse_number(point)).per_usd
    except (NotANumber, ValueError):
        st.error(f"An exchange rate is a number above 0: the last one, {last:.6g}, stays.", icon=":material/error:")
        return last
    st.session_state[_KEPT.format(code)] = rate
    return rate


def _dated(currency: Currency) -> str:
    """The rate with its day and source, and that it is old where it is."""
    listed = rates()[currency.code]
    typed = f"{currency.per_usd:.6g}" != f"{listed.per_usd:.6g}"
    old = not typed and listed.is_old(datetime.now(UTC).date())
    return (
        f"Amounts at {currency.rate}{f', older than {STALE_AFTER_DAYS} days: type the rate of today' if old else ''}."
    )


def withhold(*, present: bool) -> None:
    """Keep own prices out of every file of this page, those of tables and charts too, until they are let in."""
    held = present and not st.session_state.get(_ASKED, False)
    st.session_state[WITHHELD] = held
    if held:
        st.html(NO_FILES)


def draw_own_prices(*, present: bool) -> bool:
    """Whether downloads may hold the user's own prices: off until it is asked for. Nothing is drawn without any."""
    let_in = present and st.toggle(
        "Downloads with my own prices",
        key=_ASKED,
        persist_state="session",
        help="Prices and constants that you typed are never in a link. They are in a file only while this is on.",
    )
    withhold(present=present)
    return bool(let_in)
