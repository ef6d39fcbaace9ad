"""What moves the cost: a tornado, what flips the answer, what each promise costs, and two inputs together."""

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from sizing.decision.inputs import inputs_of, sizing_inputs
from sizing.decision.outcome import Progress
from sizing.decision.promises import cheaper_with_more_gpus
from sizing.decision.text import MORE_FOR_LESS, name_of
from sizing.mixed.text import of_one_fleet
from sizing.scenario.schema import Scenario
from ui import state
from ui.cost import computed
from ui.currency import Currency
from ui.figures.sensitivity import (
    build_tornado,
    build_two_inputs,
    flips_table,
    promises_table,
    tornado_table,
    two_inputs_table,
    unmoved,
)
from ui.shell import draw_chart, draw_choice, draw_csv, draw_rows, draw_table, progress_bar
from ui.shell.notes import draw_wrong_in_link

VIEWS = {
    "tornado": "Every input",
    "flips": "What flips the answer",
    "promises": "Which promise buys the hardware",
    "two": "Two inputs",
}

HARDWARE = {"keep": "The plan's own", "any": "Any that the scenario allows"}

Computed = TypeVar("Computed")


def draw_sensitivity(key: str, costs: str, currency: Currency, *, dark: bool) -> None:
    """One of the views; each plans the scenario again for every value it tries."""
    if of_one := of_one_fleet(Scenario.model_validate_json(key)):
        st.caption(of_one)
    view = draw_choice("What moves it", VIEWS, key="cost_moves", help=None, labelled=False)
    if view == "tornado":
        _tornado(key, costs, currency, dark=dark)
    elif view == "flips":
        _flips(key, costs, currency)
    elif view == "promises":
        _promises(key, costs, currency)
    else:
        _two(key, costs, currency, dark=dark)


def _tornado(key: str, costs: str, currency: Currency, *, dark: bool) -> None:
    chosen = draw_choice(
        "Hardware",
        HARDWARE,
        key="cost_hardware",
        help="The plan's own: more or fewer of its GPU, with its engine, formats and layout, as for hardware that was "
        "decided on. Any: every value is planned anew.",
    )
    drawn = currency.converted(
        _with_progress(lambda progress: computed.tornado_of(key, costs, progress, keep_hardware=chosen == "keep"))
    )
    still = unmoved(drawn)
    st.caption(
        "Each input moved alone between the ends of its range, 20 % to both sides where no source gives one."
        + (f" Within theirs these change nothing: {', '.join(still)}." if still else "")
    )
    draw_chart(
        build_tornado(drawn, currency=currency, dark=dark),
        key="tornado",
        alt="Inputs by how far they move the cost a month.",
    )
    draw_table(lambda: tornado_table(drawn, currency), key="tornado", what="What each input moves")


def _flips(key: str, costs: str, currency: Currency) -> None:
    found_flips = _with_progress(lambda progress: computed.flips_of(key, costs, progress))
    st.caption(
        "The nearest value of each input, down to a quarter and up to four times, at which another GPU type, weight "
        "format or number of systems would be ordered; to 2 %."
    )
    if not found_flips:
        st.info("No input flips the answer within a factor of four.", icon=":material/check:")
        return
    table = flips_table([currency.converted(one) for one in found_flips], currency)
    st.dataframe(table, hide_index=True, placeholder="", key="flips_rows", alt="What flips the answer")
    draw_csv(table, key="flips", what="What flips the answer")


def _promises(key: str, costs: str, currency: Currency) -> None:
    relaxed = computed.promises_of(key, costs)
    table = promises_table([currency.converted(one) for one in relaxed], currency)
    why = f" {MORE_FOR_LESS}" if cheaper_with_more_gpus(relaxed) else ""
    st.caption(f"Each promise relaxed in turn, everything else as it is; what saves most first.{why}")
    if table.empty:
        st.info("The scenario promises nothing that could be relaxed.", icon=":material/info:")
        return
    draw_rows(table, key="promises_rows", alt="What each promise costs")
    draw_csv(table, key="promises", what="What each promise costs")


def _two(key: str, costs: str, currency: Currency, *, dark: bool) -> None:
    scenario = Scenario.model_validate_json(key)
    names = {one.key: name_of(one.key) for one in inputs_of(scenario)}
    first = [one.key for one in sizing_inputs(scenario)]
    with st.container(horizontal=True, gap="medium"):
        x = _input("Along x", names, "cost_x", first[0])
        y = _input("Along y", {k: v for k, v in names.items() if k != x}, "cost_y", next(k for k in first if k != x))
    drawn = currency.converted(_with_progress(lambda progress: computed.two_inputs_of(key, costs, x, y, progress)))
    st.caption(f"{currency.code} a month, each pair of values planned anew; GPUs where a price is not known.")
    draw_chart(
        build_two_inputs(drawn, currency=currency, dark=dark), key="two_inputs", alt="Cost a month over two inputs."
    )
    draw_table(lambda: two_inputs_table(drawn, currency), key="two_inputs", what="Two inputs")


def _input(title: str, names: dict[str, str], key: str, default: str) -> str:
    kept = state.linked(key, names, default=default)
    draw_wrong_in_link(key, f"input to move {title.lower()}")
    chosen = st.selectbox(title, list(names), key=key, format_func=names.__getitem__, width=260, **kept)
    return chosen if chosen in names else default


def _with_progress(compute: Callable[[Progress], Computed]) -> Computed:
    """The result, with a bar meanwhile where it takes long."""
    with progress_bar() as progress:
        return compute(progress)
