"""Follow one number: its formula, the formula with this plan's numbers, and where both come from."""

from collections.abc import Sequence
from functools import cache
from urllib.parse import quote

import pandas as pd
import streamlit as st

from sizing.base.result import Explained, Plan
from sizing.methodology.glossary import FieldEntry, fields
from sizing.planning.answered import Answer
from ui.format import as_markdown, bullets
from ui.shell import draw_wrapped

_EXPLAINED_PX = 480
"""Height of the table of every figure. Chosen: ten of them, with their formula wrapped."""

FORMULAS = {
    "peak_rps": "Peak demand",
    "instances": "Instances needed",
    "gpus": "Systems needed",
    "probability_within_limits": "Step factor",
    "systems": "Systems needed",
    "max_rps": "Steady state",
    "weights_gb": "Weight bytes",
    "kv_per_sequence_gb": "Sequence bytes",
    "overhead_gb": "Activation bytes",
    "max_concurrency": "Sequences at once",
    "kv_gb": "Memory fit",
    "decode_step_ms": "Decode step",
    "prefill_ms": "Prefill",
    "ttft_ms": "Steady state",
    "itl_ms": "Steady state",
    "e2e_ms": "Steady state",
    "KV transfer": "Transfer",
    "usd_per_month": "Cost",
    "usd_per_million_output_tokens": "Cost",
    "usd_per_million_output_tokens_at_full_load": "Cost",
    "power_kw": "Power by rule",
    "requests_per_day": "In business terms",
    "daily_users": "In business terms",
    "batch_limit": "Largest stable requests/s",
    "output_tokens_per_s_per_gpu": "Share of systems",
}
"""The formula on Methodology that an explained figure leads to."""

MEASURED = ("ttft_ms", "itl_ms", "e2e_ms", "output_tokens_per_s_per_gpu")
"""Figures that benchmarks measure, too."""


def explain_popover(answer: Answer, name: str, *, label: str, meaning: str, also: Sequence[str] = ()) -> None:
    """A small button that opens what one figure means, its formula, numbers and source.

    ``label`` names the figure, because a button is read out without what stands around it. ``name`` is a name in
    ``Plan.explained`` or that of a public result field, whose formula is shown without numbers; of the figures named
    in ``also``, which follow from it, the value and its numbers are shown. What others
    and the user measured of the quantity is looked up when the button is pressed.
    """
    plan = answer.plan
    is_measured = name in MEASURED and plan.deployment is not None
    with st.popover(
        f"Explain {label}",
        type="tertiary",
        help="How this number comes about",
        key=f"explain_{name}",
        on_change="rerun" if is_measured else "ignore",
    ) as popover:
        st.markdown(
            "\n\n".join(
                filter(None, (as_markdown(meaning), explanation(plan, name), *(numbers(plan, n) for n in also)))
            )
        )
        if is_measured and popover.open:
            from ui.size.nearby import evidence_for

            st.markdown(evidence_for(answer, name))


def explain_all(plan: Plan) -> None:
    """Every figure of the plan with value, formula, numbers and source, as a table."""
    draw_wrapped(
        explained_table(plan), alt="Every figure of the plan with formula, numbers and source", height=_EXPLAINED_PX
    )


def explanation(plan: Plan, name: str) -> str:
    """The text of the popover, as Markdown; "" where nothing is known of the figure."""
    explained = next((item for item in plan.explained if item.name.casefold() == name.casefold()), None)
    entry = field_entry(name)
    if explained is None and entry is None:
        return ""
    parts = [f"**{as_markdown(_label(name, entry))}**" + (f": {as_markdown(explained.value)}" if explained else "")]
    if entry:
        parts.append(as_markdown(entry.help))
    if explained:
        parts += _lines(explained)
    elif entry and entry.formula:
        parts.append(f"Formula\n\n> {as_markdown(entry.formula)}")
    return "\n\n".join(parts)


def numbers(plan: Plan, name: str) -> str:
    """The value of a figure and how it comes about, as Markdown; "" where it is not explained with numbers."""
    explained = next((item for item in plan.explained if item.name == name and item.steps), None)
    if explained is None:
        return ""
    label = as_markdown(_label(name, field_entry(name)))
    return f"**{label}**: {as_markdown(explained.value)}\n\n{bullets(explained.steps)}"


def explained_table(plan: Plan) -> pd.DataFrame:
    """``Plan.explained`` as a table, in the words of the labels."""
    rows = [(_label(e.name, field_entry(e.name)), e.value, e.formula, e.numbers, e.source) for e in plan.explained]
    return pd.DataFrame(rows, columns=["Quantity", "Value", "Formula", "With these numbers", "Source"])


@cache
def field_entry(name: str) -> FieldEntry | None:
    """The public result field of that name or label; the first in the order of the answer."""
    wanted = name.casefold()
    return next((entry for entry in fields() if wanted in (entry.name.casefold(), entry.label.casefold())), None)


def _lines(explained: Explained) -> list[str]:
    parts = [f"Formula\n\n> {as_markdown(explained.formula)}"]
    if explained.steps:
        parts.append(f"With these numbers\n\n{bullets(explained.steps)}")
    elif explained.numbers:
        parts.append(f"With these numbers\n\n> {as_markdown(explained.numbers)}")
    formula = FORMULAS.get(explained.name)
    if formula:
        parts.append(f"[{formula} on Methodology](methodology?term={quote(formula)})")
    return [*parts, f"Source: {as_markdown(explained.source)}"]


def _label(name: str, entry: FieldEntry | None) -> str:
    return entry.label if entry else name
