"""The controls of the frontier, and which GPUs it shows unasked."""

from dataclasses import dataclass

import streamlit as st

from sharing.form.choices import gpu_names
from sharing.form.read import OWN_GPU
from sizing.explore.frontier import FrontierSplit
from sizing.explore.operating_point import XAxis, YAxis
from sizing.planning.answered import Answer
from sizing.scenario.schema import Scenario
from ui import state
from ui.figures.template import hardware_look
from ui.shell import draw_choice
from ui.shell.notes import draw_wrong_in_link
from ui.size.answer import nearest_to_fit

MOST_UNASKED = 5
"""GPUs shown without a choice: as many as have a colour of their own."""
X_LABELS: dict[XAxis, str] = {"tokens_per_s_per_user": "Speed for a user", "ttft_ms": "TTFT", "e2e_ms": "E2E"}
Y_LABELS: dict[YAxis, str] = {
    "output_tokens_per_s_per_gpu": "Rate per GPU",
    "usd_per_million_output_tokens": "USD at my load",
    "usd_per_million_output_tokens_at_full_load": "USD at full load",
    "output_tokens_per_s_per_kw": "Rate per kW",
}
SPLIT_LABELS: dict[FrontierSplit, str] = {
    "none": "Best",
    "width": "Precision",
    "engine": "Engine",
    "serving": "Serving",
}
RANGE_LABELS = {"plan": "Plan", "all": "All", "none": "None"}


@dataclass(frozen=True, kw_only=True)
class FrontierView:
    """What the frontier shows: axes, GPUs, lines per GPU, and the GPUs whose 80 % range is tinted."""

    x: XAxis
    y: YAxis
    gpus: tuple[str, ...]
    split: FrontierSplit
    ranges: tuple[str, ...]


def draw_controls(answer: Answer) -> FrontierView:
    """Axes and lines in one row, the GPUs below."""
    x, y = _axes()
    plan, unasked, considered = answer.plan, leading_gpus(answer), _considered(answer.scenario)
    kinds, split_by, ranged = st.columns([4, 4, 3], gap="medium")
    with kinds:
        names = {gpu: answer.question.gpu_name(gpu) for gpu in considered}
        kept = state.linked("shown", names, default=[], several=True)
        draw_wrong_in_link("shown", "GPU of this scenario")
        chosen = st.multiselect(
            "GPUs shown",
            considered,
            key="shown",
            **kept,
            wrap=True,
            format_func=names.__getitem__,
            placeholder="All considered" if len(unasked) == len(considered) else "The best of each colour",
            help="Empty: all where few are considered, else the best-ranked GPU of each colour. Colour stands for the "
            "family, the marker for the GPU.",
        )
    with split_by:
        split = draw_choice(
            "Lines per GPU",
            SPLIT_LABELS,
            key="lines",
            stretched=True,
            help="One line for the best of all deployments, or one for each width of the weights (16, 8, 4 bit), "
            "engine or kind of serving (prefill and decode together or in pools of their own), told apart by the dash.",
        )
    with ranged:
        ranges = draw_choice(
            "80 % range of",
            RANGE_LABELS,
            key="range",
            stretched=True,
            help="Where 80 % of such estimates lie, at the same number of requests in flight: for the GPU of the plan, "
            "or for all.",
        )
    gpus = tuple(chosen or unasked)
    own = plan.deployment.gpu if plan.deployment and plan.deployment.gpu in gpus else gpus[0] if gpus else ""
    return FrontierView(x=x, y=y, gpus=gpus, split=split, ranges={"all": gpus, "plan": (own,), "none": ()}[ranges])


def _axes() -> tuple[XAxis, YAxis]:
    across, up = st.columns(2, gap="medium")
    with across:
        x = draw_choice(
            "Across",
            X_LABELS,
            key="x",
            stretched=True,
            help="Speed for a user: output tokens/s of one answer, 1 / ITL.",
        )
    with up:
        y = draw_choice(
            "Upwards",
            Y_LABELS,
            key="y",
            stretched=True,
            help="Output tokens/s per GPU, USD per million output tokens, or output tokens/s per kW. At my load: whole "
            "systems for the load of this scenario, and the tokens of its day, as on Size. At full load: systems full "
            "and busy day and night. Power is that of full systems.",
        )
    return x, y


def leading_gpus(answer: Answer) -> list[str]:
    """The best-ranked GPU of each colour, so that every line has one of its own; all where few are considered."""
    plan, considered = answer.plan, _considered(answer.scenario)
    if len(considered) <= MOST_UNASKED:
        return considered
    ranked = [plan.deployment.gpu] if plan.deployment else [e.gpu for e in nearest_to_fit(plan)]
    ranked += [c.deployment.gpu for c in plan.alternatives]
    best: dict[str, str] = {}
    for gpu in [*ranked, *considered]:
        best.setdefault(hardware_look(gpu).colour, gpu)
    return list(best.values())[:MOST_UNASKED]


def _considered(scenario: Scenario) -> list[str]:
    """Ids of the GPUs of the question, those that can be sized."""
    own = [gpu.id for gpu in scenario.deployment.custom_gpus]
    named = scenario.deployment.gpus or list(gpu_names())
    return list(dict.fromkeys([*(g for g in named if g != OWN_GPU), *own]))


def draw_gpu_choice(key: str, answer: Answer) -> str:
    """One of the considered GPUs; that of the plan unless another was chosen."""
    plan, options = answer.plan, _considered(answer.scenario)
    first = plan.deployment.gpu if plan.deployment else options[0]
    names = {gpu: answer.question.gpu_name(gpu) for gpu in options}
    kept = state.linked(key, names)
    draw_wrong_in_link(key, "GPU of this scenario")
    return (
        st.selectbox(
            "GPU",
            options,
            index=None,
            key=key,
            **kept,
            placeholder=names[first],
            format_func=names.__getitem__,
            help="Empty: the GPU of the plan.",
        )
        or first
    )
