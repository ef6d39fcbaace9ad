"""How far the levers are moved: what-ifs that the session keeps."""

from __future__ import annotations

import streamlit as st

from sharing.form.asked import AskedNumber
from sizing.catalog import models
from sizing.catalog.model import Model
from sizing.decision.lever_changes import LeverSettings, default_settings, next_smaller, pruned_size_b
from sizing.question.understand import model_of
from sizing.scenario.schema import Scenario
from ui.shell import draw_number

_SMALLEST_B, _LARGEST_B = 0.05, 20_000.0
"""Size of a model that is looked at, billions of parameters: as a scenario may have it."""


def draw_settings(scenario: Scenario) -> LeverSettings:
    """The fields of the levers, behind a click. Those of a model start over with another one."""
    start, model = default_settings(), model_of(scenario)
    with st.popover("Assumptions of the levers", icon=":material/tune:"):
        cached = _whole("Prefix caching: share of the prompt (%)", "cached", (1, 99), round(100 * start.cached_share))
        left = _whole("Shorter prompts: length left (%)", "prompt", (1, 99), round(100 * start.prompt_share))
        drafts = _whole("Speculative decoding: draft tokens a step", "drafts", (1, 16), start.draft_tokens)
        right = _whole(
            "Speculative decoding: draft tokens accepted (%)", "acceptance", (0, 100), round(100 * start.acceptance)
        )
        smaller, size = _smaller(model), _size(model)
    return LeverSettings(
        cached_share=cached / 100.0,
        prompt_share=left / 100.0,
        draft_tokens=drafts,
        acceptance=right / 100.0,
        smaller_model=smaller,
        size_b=size,
    )


def _whole(title: str, name: str, ends: tuple[int, int], value: int) -> int:
    low, high = ends
    number = draw_number(
        title,
        AskedNumber(name=title, low=low, high=high, whole=True, example=str(value)),
        key=f"lever_{name}",
        default=value,
        kept="session",
        help=f"A what-if, {low} to {high}: replace it by what your own traffic and model allow.",
    )
    return int(number)


def _smaller(model: Model) -> str | None:
    names = sorted(one.id for one in models().values() if one.params_total < model.params_total)
    usual = next_smaller(model)
    return st.selectbox(
        "Smaller model",
        names,
        index=names.index(usual) if usual in names else None,
        key=f"lever_model_{model.id}",
        persist_state="session",
        help="Taken instead of the model: test its answers on your task.",
        placeholder="None chosen",
    )


def _size(model: Model) -> float:
    return draw_number(
        "Pruned model: size (billions of parameters)",
        AskedNumber(name="Size of the pruned model", low=_SMALLEST_B, high=_LARGEST_B, example="6"),
        key=f"lever_size_{model.id}",
        default=max(round(pruned_size_b(model), 2), _SMALLEST_B),
        kept="session",
        help="Of a dense model with the same layers and heads, narrower.",
    )
