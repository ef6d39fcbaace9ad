"""What given servers, GPUs, a budget or power serves, and how far the question can be pushed on it."""

import streamlit as st

from sharing.form.asked import AskedNumber
from sharing.form.problems import UnreadableInput
from sizing.base.errors import SizingError
from sizing.base.format import counted, large, requests_per_s, significant
from sizing.explore.inverse import MAX_BUDGET_USD, MAX_FLEET_GPUS, MAX_FLEET_SYSTEMS, MAX_POWER_KW, Served
from ui import state
from ui.explore import computed
from ui.explore.controls import draw_gpu_choice
from ui.format import as_markdown, bullets
from ui.inputs.given import HAVE
from ui.shell import draw_choice, draw_problems
from ui.shell.notes import draw_wrong_in_link
from ui.size.above import draw_estimates
from ui.state import FormAnswer
from ui.work.computing import Have

_ASKED: dict[Have, AskedNumber] = {
    "systems": AskedNumber(name=HAVE["systems"], high=MAX_FLEET_SYSTEMS, beyond_low=True, whole=True, example="2"),
    "gpus": AskedNumber(name=HAVE["gpus"], high=MAX_FLEET_GPUS, beyond_low=True, whole=True, example="16"),
    "usd": AskedNumber(name=HAVE["usd"], high=MAX_BUDGET_USD, beyond_low=True, example="50,000"),
    "kw": AskedNumber(name=HAVE["kw"], high=MAX_POWER_KW, beyond_low=True, example="20"),
}
_FIELD: dict[Have, tuple[str, str, str]] = {
    "systems": ("Number of servers", "1", "Servers or racks of the kind beside, spares included."),
    "gpus": ("Number of GPUs", "8", "GPUs of the kind beside, spares included."),
    "usd": ("Budget (USD a month)", "50,000", "Buys or rents whole systems. Never part of a link."),
    "kw": ("Power for servers (kW)", "20", "What whole systems draw at their maximum, cooling aside."),
}
"""Label, what stands in it at first, and help of the amount."""

_SPLIT = (
    "How an instance is spread over its GPUs. TP: GPUs that share every layer. PP: groups of layers on different GPUs. "
    "EP: experts on different GPUs. DP: copies of the attention layers, each for requests of its own."
)


def draw_serves(answer: FormAnswer) -> None:
    """Hardware, budget or power in; requests/s, users, longest prompt and tightest limits out."""
    have, amount, kind = st.columns([5, 3, 4], gap="medium", vertical_alignment="top")
    with have:
        what = draw_choice(
            "You have",
            HAVE,
            key="have",
            stretched=True,
            help="Servers or GPUs, USD a month for whole systems at list price, or power to run them with.",
        )
    with amount:
        typed = _amount(what)
    key = answer.scenario.model_dump_json()
    with kind:
        on = _system_choice(key, answer) if what == "systems" else draw_gpu_choice("serve_gpu", answer)
    try:
        number = read_amount(typed, what)
        served = computed.served_of(key, on, what, number)
        st.markdown(f"#### {as_markdown(served.message)}", help=_SPLIT)
        if served.business is None:
            return
        _figures(served)
        pushed = computed.pushed_of(key, on, what, served.gpus_given)
    except (UnreadableInput, SizingError) as error:
        draw_problems(error.problems[:1])
        return
    st.markdown(f"**With the peak of {as_markdown(requests_per_s(answer.plan.sustained_rps))} that was asked**")
    st.markdown(bullets(one.message for one in pushed))
    draw_estimates(answer.plan)


def read_amount(typed: str, what: Have) -> float:
    """The servers, GPUs, USD a month or kW that were typed. Raises UnreadableInput with one sentence."""
    return _ASKED[what].read(typed.replace("$", ""))


def _amount(what: Have) -> str:
    title, first, help_text = _FIELD[what]
    key = f"have_{what}"
    # A budget is the customer's own.
    kept = {"persist_state": "session"} if what == "usd" else state.linked(key, default=first)
    return st.text_input(title, value=first, key=key, **kept, max_chars=40, help=help_text)


def _system_choice(key: str, answer: FormAnswer) -> str:
    """One of the systems of the considered GPUs; that of the plan unless another was chosen."""
    names, planned = computed.systems_of(key), answer.plan.deployment
    first = next((one for one, name in names.items() if planned and name == planned.system), next(iter(names)))
    kept = state.linked("serve_system", names)
    draw_wrong_in_link("serve_system", "server of this scenario")
    return (
        st.selectbox(
            "Server",
            list(names),
            index=None,
            key="serve_system",
            **kept,
            placeholder=names[first],
            format_func=names.__getitem__,
            help="Type to search. Empty: the server of the plan.",
        )
        or first
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
