"""Levers and formats begin with what they come to: what saves most, or that nothing does."""

from sizing import Scenario
from sizing.decision.formats import formats
from sizing.decision.lever_changes import default_settings
from sizing.decision.lever_text import LEVERS, WORTH_USD, cheapest_formats, finding
from sizing.decision.levers import levers
from sizing.decision.outcome import Answers

ASKED = Scenario.model_validate(
    {
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "workload": {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31},
        "limits": {"ttft_ms": 3000, "itl_ms": 50},
        "deployment": {"gpus": ["h100_sxm"]},
    }
)


def test_the_lever_that_saves_most_is_named_first() -> None:
    rows = levers(ASKED, default_settings(), Answers())
    able = [row for row in rows if row.standing != "undone" and row.outcome is not None and row.outcome.feasible]
    saved = {LEVERS[row.name]: row.usd_saved or 0.0 for row in able}
    best = max(saved, key=lambda name: saved[name])
    assert saved[best] >= WORTH_USD, "This question is one where a lever saves money."
    assert finding(rows).startswith(f"Most is saved by {best} (")
    nothing = tuple(row.model_copy(update={"usd_saved": 0.0, "gpus_saved": 0}) for row in rows)
    assert finding(nothing) == "No lever saves money here: whole systems are bought."


def test_no_format_is_cheaper_than_the_ones_that_are_named() -> None:
    compared = formats(ASKED, Answers(), same_gpu=True)
    costs = [row.outcome.usd_per_month for row in compared.rows if row.outcome.feasible]
    least = min(cost for cost in costs if cost is not None)
    assert cheapest_formats(compared, lambda amount: f"{amount:.0f}").startswith(f"Least cost, {least:.0f} a month: ")
    assert cheapest_formats(compared.model_copy(update={"rows": ()})) == ""
