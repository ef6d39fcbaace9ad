"""Ranked alternatives to choose from, and what was excluded with the smallest change that would let it in."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from sharing.form.choices import label
from sharing.report.answer import gpu_span
from sizing.base.deployed import Deployed
from sizing.base.format import count, percent, usd
from sizing.base.result import Candidate, Plan
from sizing.catalog.precisions import precisions
from sizing.planning.left_out import other_bases
from sizing.planning.text import and_drafts, why_no_alternatives
from sizing.question.configuration import parallelism_text
from ui import state
from ui.format import as_markdown, known
from ui.shell import is_narrow
from ui.size.above import ORIGIN, origin_of
from ui.size.key_figures import parallelism
from ui.state import FormAnswer

Name = Callable[[str], str]
"""What an accelerator is called, by its id."""

USE = "Use"
SAME_PRICE = 0.0005
"""Relative difference below which two prices read the same."""
_CLICK, _LET_IN = "use_alternative", "let_in"

APPLY, _APPLY_PX = "Apply", 60
"""What the buttons that change a scenario say, beside the change in words, and the width of their column."""
_GPUS_PX = 194
"""Width of the column of GPUs. Chosen: the longest name with its number, and all other columns beside it."""
_SHORT, _LETTER_PX, _AROUND_PX = 5, 7, 24
"""Letters of a split or a format that their columns have room for, the width of one, and what stands around a name in
the column of GPUs, which gives the others what its own names leave."""
_ORIGIN_PX = 70
"""Width of the column that says which figures are simulated."""
_SPARE_PX = 30
"""What the column of GPUs can give in any case."""
_CLOSEST_PX, _REASON_PX, _RELAXATION_PX, _ROW_PX = 170, 310, 190, 76
_NARROWER = (110, 150, 110, 150)
"""Widths of the columns of configurations, reasons and changes, and height of a row that is high enough for cells to
wrap; the same in a narrow window. Chosen: all columns stand beside the form at 1440 pixels and in a window of 1024, and
two limits that are missed can be read."""
_FIRST_IN_A_NARROW_WINDOW = (USE, "gpu", "split", "format", "ttft", "itl", "usd")
"""What is decided by; the other columns are a movement away."""
_LONG = re.compile(r" Blackwell(?= (Server|Workstation) Edition)| Edition\b|, preliminary| \(preliminary\)")
"""What a name in the ranking leaves out: the generation and the word beside an edition, and that it is not sold yet."""

_HARDWARE = "Hardware before power and operation; or the rented instances."


def draw_alternatives(answer: FormAnswer) -> None:
    """The plan and the ranking below it; a click restricts the form to that deployment. Nine columns fit beside the
    form at 1440 pixels: cost, split and which figures are estimates among them."""
    plan = answer.plan
    if plan.deployment is None:
        return
    table = alternatives_table(answer)
    # Where all others are estimated alike, the line below says so, and names of GPUs have the room.
    alike = table["origin"][1:].nunique() <= 1
    narrow = is_narrow()
    st.dataframe(
        table,
        hide_index=True,
        key="alternatives",
        alt="The plan, and other deployments that meet the limits, best first",
        column_order=_order(table, narrow=narrow, without=("origin",) if alike else ()),
        column_config=_column_config(answer, table, gpus_px=_GPUS_PX + (_ORIGIN_PX if alike else 0), narrow=narrow),
    )
    _draw_notes(answer, plan.deployment)


def _column_config(answer: FormAnswer, table: pd.DataFrame, *, gpus_px: int, narrow: bool) -> dict[str, Any]:
    """How each column of the alternatives is headed, how wide it is and how its numbers are written."""
    at = f"p{answer.scenario.limits.percentile:g}"
    more = {name: _LETTER_PX * max(_most_letters(table[name]) - _SHORT, 0) for name in ("split", "format")}
    spare = max(gpus_px - _AROUND_PX - _LETTER_PX * _most_letters(table["gpu"]), _SPARE_PX)
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    pinned = not narrow  # there the two first columns would leave no room to move the others
    return {
        USE: st.column_config.ButtonColumn("", key=_CLICK, on_click=_use, args=(answer,), width=42, pinned=pinned),
        "gpu": text("GPUs", pinned=pinned, width=gpus_px - min(sum(more.values()), spare)),
        "split": text(
            "Split", width=42 + more["split"], help="How one copy of the model is spread over GPUs: TP, PP, EP, DP."
        ),
        "format": text("Format", width=52 + more["format"]),
        "engine": text("Engine", width=94),
        "ttft": number(f"{at} TTFT (ms)", format="localized", width=92, help="Time to first token."),
        "itl": number(f"{at} ITL (ms)", format="localized", width=84, help="Gap between tokens."),
        "usd": number("USD/month", format="localized", step=1, width=78, help=_HARDWARE),
        "origin": text("Figures", width=_ORIGIN_PX, help="Where instances and latency come from."),
        "difference": text("Difference", width=70, help="Hardware per month, against that of the plan."),
        "range": text("GPUs, 8 of 10", help="GPUs that were enough in 8 of 10 such cases."),
        "instance": text("One instance", width=110, help="How one copy of the model is spread over GPUs."),
        "systems": number("Systems", format="localized"),
        "e2e": number(f"{at} E2E (ms)", format="localized"),
        "rate": number("Output tokens/s per GPU", format="localized"),
        "serving": text("Serving", width=110),
        "limited": "Limited by",
        "source": "Step times from",
    }


def _order(table: pd.DataFrame, *, narrow: bool, without: Sequence[str]) -> list[str]:
    """The columns as they stand; in a narrow window those first by which one decides."""
    names = [str(name) for name in table if name not in without]
    first = _FIRST_IN_A_NARROW_WINDOW if narrow else ()
    return [*first, *(name for name in names if name not in first)]


def _most_letters(column: pd.Series) -> int:
    return int(column.str.len().max())


def _draw_notes(answer: FormAnswer, planned: Deployed) -> None:
    """What has to be known of the ranking: what is priced and estimated, and which prices are of another basis."""
    plan = answer.plan
    if plan.alternatives:
        st.caption(f":material/payments: USD/month: {_HARDWARE[0].lower()}{_HARDWARE[1:]}")
    if not plan.alternatives:
        st.caption(why_no_alternatives(plan))
    elif any(c.decided_by == "analytic" for c in plan.alternatives) and plan.decided_by == "simulation":
        every = all(c.decided_by == "analytic" for c in plan.alternatives)
        others = "the others come" if every else "what reads “Estimate” comes"
        st.caption(
            f":material/calculate: The plan is simulated; {others} from the analytic load model. Once you use such a "
            "deployment it is simulated too, and may need another number of instances."
        )
    if bases := other_bases([planned, *(c.deployment for c in plan.alternatives)], answer.question):
        st.caption(f":material/sell: {as_markdown(bases)}")


def alternatives_table(answer: FormAnswer) -> pd.DataFrame:
    """The plan as the first row, then one row per other deployment; numbers to three significant digits."""
    plan, name = answer.plan, answer.question.gpu_name
    if plan.deployment is None:
        return pd.DataFrame()
    planned = plan.cost.hardware_usd_per_month if plan.cost else None
    others = [_row(c, name, USE, _difference(c.hardware_usd_per_month, planned)) for c in in_order(plan.alternatives)]
    return pd.DataFrame([_planned_row(plan, plan.deployment, name), *others])


def in_order(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The ranking as it is shown: what has no price comes last."""
    return sorted(candidates, key=lambda c: c.hardware_usd_per_month is None)


def _gpus(deployed: Deployed, name: Name) -> str:
    return f"{count(deployed.gpus)} x {_LONG.sub('', name(deployed.gpu))}"


def _what(deployed: Deployed, name: Name) -> dict[str, object]:
    """GPUs, format and engine, in a column each."""
    return {
        "gpu": _gpus(deployed, name),
        "split": " + ".join("TP1" if one.gpus == one.instances else parallelism_text(one) for one in deployed.kinds),
        "format": precisions()[deployed.weight_precision].plain_label,
        "engine": label("engine", deployed.engine),
    }


def _row(one: Candidate, name: Name, use: str | None, difference: str | None) -> dict[str, object]:
    return {
        USE: use,
        **_what(one.deployment, name),
        "ttft": known(one.ttft_ms),
        "itl": known(one.itl_ms),
        "usd": known(one.hardware_usd_per_month),
        "origin": origin_of(one),
        "difference": difference,
        "instance": parallelism(one.deployment) + and_drafts(one.deployment),
        "range": gpu_span(one.gpus_low, one.gpus_high),
        "systems": one.deployment.systems,
        "e2e": known(one.e2e_ms),
        "rate": known(one.output_tokens_per_s_per_gpu),
        "serving": label("serving", one.deployment.serving),
        "limited": one.limited_by,
        "source": one.provenance.step_times.name,
    }


def _planned_row(plan: Plan, deployed: Deployed, name: Name) -> dict[str, object]:
    """The deployment of the plan in the same columns."""
    latency, one = plan.latency, plan.per_instance
    return {
        USE: None,
        **_what(deployed, name),
        "gpu": f"Plan: {_gpus(deployed, name)}",
        "ttft": known(latency.ttft_ms.at_percentile if latency else None),
        "itl": known(latency.itl_ms.at_percentile if latency else None),
        "usd": known(plan.cost.hardware_usd_per_month if plan.cost else None),
        "origin": ORIGIN[plan.decided_by],
        "difference": "this plan",
        "instance": parallelism(deployed) + and_drafts(deployed),
        "range": gpu_span(plan.gpus_low, plan.gpus_high),
        "systems": deployed.systems,
        "e2e": known(latency.e2e_ms.at_percentile if latency else None),
        "rate": known(one.output_tokens_per_s_per_gpu if one else None),
        "serving": label("serving", deployed.serving),
        "limited": plan.limited_by,
        "source": plan.provenance.step_times.name if plan.provenance else "",
    }


def _difference(one: float | None, planned: float | None) -> str | None:
    """ "+20 %", "same", "-8 %", an amount where the plan costs nothing; nothing where a price is unknown."""
    if one is None or planned is None:
        return None
    more = one - planned
    if abs(more) < SAME_PRICE * planned:
        return "same"
    return f"{'+' if more > 0 else '-'}{percent(abs(more) / planned) if planned > 0 else usd(abs(more))}"


def draw_excluded(answer: FormAnswer) -> None:
    """GPUs that cannot serve the scenario: why, and what would change it."""
    shown = answer.plan.excluded
    if not shown:
        return
    st.markdown("**What cannot serve this, and the smallest change that would let it in**")
    closest, reason, relaxation, row = _NARROWER if is_narrow() else (_CLOSEST_PX, _REASON_PX, _RELAXATION_PX, _ROW_PX)
    st.dataframe(
        pd.DataFrame(
            [
                {
                    "gpu": e.closest or answer.question.gpu_name(e.gpu),
                    "reason": e.reason,
                    "relaxation": e.relaxation,
                    "fix": APPLY if e.fix else None,
                }
                for e in shown
            ]
        ),
        hide_index=True,
        row_height=row,
        key="excluded",
        alt="Excluded GPUs with the reason and the smallest change",
        column_config={
            "gpu": st.column_config.TextColumn(
                "GPU", width=closest, pinned=not is_narrow(), help="With the configuration that comes closest."
            ),
            "reason": st.column_config.TextColumn("Reason", width=reason),
            "relaxation": st.column_config.TextColumn("Smallest change", width=relaxation),
            "fix": st.column_config.ButtonColumn("", key=_LET_IN, on_click=_let_in, args=(answer,), width=_APPLY_PX),
        },
    )


def _let_in(answer: FormAnswer) -> None:
    fix = answer.plan.excluded[st.session_state[_LET_IN].row].fix
    if fix:
        state.apply_fix(fix, answer.scenario)


def _use(answer: FormAnswer) -> None:
    click = st.session_state[_CLICK]
    if click.row > 0:  # the first row is the plan itself
        state.use_candidate(in_order(answer.plan.alternatives)[click.row - 1], answer.scenario)
