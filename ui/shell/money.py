"""The currency of a page: which, at what rate, and how its numbers are written. The session keeps it."""

from datetime import UTC, datetime

import streamlit as st
from babel.numbers import get_decimal_symbol

from sharing.form.numbers import NotANumber, parse_number
from sizing.economics.dates import STALE_AFTER_DAYS
from ui.currency import DOLLARS, LOCALES, Currency, rates
from ui.format import as_markdown

_CODE, _LOCALE, _RATE, _KEPT = "currency", "number_locale", "rate_{}", "rate_kept_{}"
_IN_USD = " The answer in the box above stays in USD."


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
