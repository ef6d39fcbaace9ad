"""What given hardware or a budget serves, and how far the question can be pushed on it."""

import streamlit as st

from sharing.form.asked import AskedNumber
from sharing.form.problems import UnreadableInput
from sizing.base.errors import SizingError
from sizing.base.format import counted, large, requests_per_s, significant
from sizing.explore.inverse import MAX_BUDGET_USD, MAX_FLEET_GPUS, Served
from ui import state
from ui.explore import computed
from ui.explore.controls import draw_gpu_choice
from ui.format import as_markdown, bullets
from ui.shell import draw_choice, draw_problems
from ui.size.above import draw_estimates
from ui.state import FormAnswer

_HAVE = {"gpus": "GPUs", "usd": "Monthly budget"}
_ASKED = {
    "gpus": AskedNumber(name=_HAVE["gpus"], high=MAX_FLEET_GPUS, beyond_low=True, whole=True, example="16"),
    "usd": AskedNumber(name=_HAVE["usd"], high=MAX_BUDGET_USD, beyond_low=True, example="50,000"),
}

_SPLIT = (
    "How an instance is spread over its GPUs. TP: GPUs that share every layer. PP: groups of layers on different GPUs. "
    "EP: experts on different GPUs. DP: copies of the attention layers, each for requests of its own."
)


def draw_serves(answer: FormAnswer) -> None:
    """Hardware or budget in; requests/s, users, longest prompt and tightest limits out."""
    have, amount, kind = st.columns([1, 1, 2], gap="medium", vertical_alignment="top")
    with have:
        what = draw_choice(
            "You have",
            _HAVE,
            key="have",
            stretched=True,
            help="A number of GPUs, or USD a month for whole systems at list price.",
        )
    with amount:
        typed = _amount(what)
    with kind:
        gpu = draw_gpu_choice("serve_gpu", answer)
    key = answer.scenario.model_dump_json()
    try:
        number = read_amount(typed, what)
        served = computed.served_of(key, gpu, int(number) if what == "gpus" else None, number)
        st.markdown(f"#### {as_markdown(served.message)}", help=_SPLIT)
        if served.business is None:
            return
        _figures(served)
        pushed = computed.pushed_of(key, gpu, served.gpus_given)
    except (UnreadableInput, SizingError) as error:
        draw_problems(error.problems[:1])
        return
    st.markdown(f"**With the peak of {as_markdown(requests_per_s(answer.plan.sustained_rps))} that was asked**")
    st.markdown(bullets(one.message for one in pushed))
    draw_estimates(answer.plan)


def read_amount(typed: str, what: str) -> float:
    """The number of GPUs or the USD a month that was typed. Raises UnreadableInput with one sentence."""
    return _ASKED[what].read(typed.replace("$", ""))


def _amount(what: str) -> str:
    if what == "gpus":
        return st.text_input(
            "Number of GPUs",
            value="8",
            key="have_gpus",
            **state.linked("have_gpus", default="8"),
            max_chars=40,
            help="GPUs of the kind beside, spares included.",
        )
    return st.text_input(
        "Budget (USD a month)",
        value="50,000",
        key="have_usd",
        persist_state="session",
        max_chars=40,
        help="Buys or rents whole systems. Never part of a link.",
    )


def _figures(served: Served) -> None:
    business = served.business
    if business is None:
        return
    shown = [
        ("Requests/s", significant(served.requests_per_s), "requests_per_s"),
        ("Requests a day", large(business.requests_per_day), ""),
        *([] if business.daily_users is None else [("Daily users", large(business.daily_users), "")]),
        ("Output tokens a day", large(business.output_tokens_per_day), ""),
    ]
    with st.grid(len(shown), min_column_width=130, gap="small", border=True):
        for name, value, field in shown:
            st.metric(name, value, help=type(served).model_fields[field].description if field else None)
    st.caption(
        f"{counted(served.gpus, 'GPU')} in use; over a day of {business.hours:g} hours, busiest time "
        f"{significant(business.peak_to_mean)} times the mean"
        + ("." if business.requests_per_user is None else f", with {business.requests_per_user:g} requests per user.")
    )
