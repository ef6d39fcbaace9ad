"""Weight formats and levers as tables: what each would buy, what is published on it, and what it rests on."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from sharing.form.choices import label
from sizing.base.units import MS_PER_S
from sizing.catalog.engines import engines
from sizing.decision.formats import FormatRow, Formats
from sizing.decision.lever_text import LEVERS, STANDINGS, gain, kept_accuracy, losses, runs_on, tried, why_not
from sizing.decision.levers import LeverRow
from sizing.decision.nim import NimComparison
from sizing.decision.nim_text import TOPICS
from sizing.decision.outcome import Outcome
from sizing.decision.text import GPU_CHANGE, gpu_change
from ui.currency import DOLLARS, Currency
from ui.figures.comparison import Named
from ui.format import known

FORMATS_TOLD = ["Weights (GB per instance)", "GPUs per instance", "Calibration", "Runs on", "Why not"]
LEVERS_TOLD = ["Published accuracy", "Assumption", "Published", "Source", "Date"]
"""Columns behind a click on a page: what is bought, how fast it is and what it loses fit a window without them."""


def formats_named(formats: Formats) -> Named:
    """Outcomes of the formats that serve the scenario."""
    return [(label("prec", one.precision), one.outcome) for one in formats.rows if one.outcome.feasible]


def formats_table(formats: Formats, currency: Currency = DOLLARS, at: str = "") -> pd.DataFrame:
    """One row per weight format, the widest first; latencies at the percentile that ``at`` names ("p95 ")."""
    return pd.DataFrame([_format(one, currency.code, at) for one in formats.rows])


def _format(one: FormatRow, code: str, at: str) -> dict[str, Any]:
    small, large = gain(one)
    guide = one.guide
    return {
        "Weights": f"{label('prec', one.precision)}{' (checkpoint)' if one.native else ''}",
        "Fits": "yes" if one.outcome.feasible else "no",
        **_bought(one.outcome, code),
        f"to the plan ({code})": one.usd_more,
        "Published accuracy loss": losses(one),
        **_latencies(one.outcome, at),
        "Weights (GB per instance)": known(one.weights_gb),
        "GPUs per instance": one.gpus_per_instance,
        "Gain, small batch": small,
        "Gain, large batch": large,
        "Calibration": "" if guide is None else guide.calibration,
        "Runs on": runs_on(one),
        "Why not": why_not(one),
    }


def _bought(outcome: Outcome, code: str) -> dict[str, Any]:
    return {
        "GPUs": outcome.gpus,
        "GPU": outcome.gpu_name,
        "Systems": outcome.systems,
        f"All costs ({code} a month)": outcome.usd_per_month,
    }


def _latencies(outcome: Outcome, at: str) -> dict[str, Any]:
    seconds = None if outcome.e2e_ms is None else outcome.e2e_ms / MS_PER_S
    return {
        f"{at}TTFT (ms)": known(outcome.ttft_ms),
        f"{at}ITL (ms)": known(outcome.itl_ms),
        f"{at}E2E (s)": known(seconds),
    }


def published_table(formats: Formats) -> pd.DataFrame:
    """Everything published on the formats: losses, speeds and grades, each with its source."""
    return pd.DataFrame([fact for one in formats.rows for fact in _published(one)])


def _published(one: FormatRow) -> list[dict[str, str]]:
    name = label("prec", one.precision)
    facts = [
        {"Weights": name, "What": "accuracy loss", "Model": x.model, "Measured": f"{x.metric}: {x.loss}"} | _from(x)
        for x in one.losses
    ]
    for speed in one.speeds:
        pairs = ((1, speed.batch_1), (8, speed.batch_8), (64, speed.batch_64))
        times = ", ".join(f"{x:g}x at {n} in flight" for n, x in pairs if x is not None)
        facts.append(
            {
                "Weights": name,
                "What": "tokens/s over 16 bit",
                "Model": speed.model,
                "Measured": f"{times}; {speed.setup}",
            }
            | _from(speed)
        )
    if one.guide is not None:
        grades = f"accuracy impact {one.guide.accuracy.lower()}, calibration {one.guide.calibration}"
        facts.append({"Weights": name, "What": "vendor's grades", "Model": "", "Measured": grades} | _from(one.guide))
    return facts


def _from(fact: Any) -> dict[str, str]:
    return {"Source": fact.source, "Date": fact.date}


def levers_named(rows: Sequence[LeverRow], base: Outcome) -> Named:
    """The plan, then every lever that the engine has an answer for."""
    return [
        ("This plan", base),
        *((LEVERS[one.name], one.outcome) for one in rows if one.outcome is not None and one.outcome.feasible),
    ]


def levers_table(rows: Sequence[LeverRow], currency: Currency = DOLLARS, at: str = "") -> pd.DataFrame:
    """One row per lever, in the order tried; latencies at the percentile that ``at`` names ("p95 ")."""
    return pd.DataFrame([_lever(one, currency.code, at) for one in rows])


def _lever(one: LeverRow, code: str, at: str) -> dict[str, Any]:
    outcome = one.outcome
    served = outcome is not None and outcome.feasible
    return {
        "Lever": LEVERS[one.name],
        "Standing": STANDINGS[one.standing] if served or outcome is None else "nothing serves it within the limits",
        "Tried": tried(one),
        **(_bought(outcome, code) if served and outcome is not None else {}),
        f"saved ({code} a month)": one.usd_saved,
        GPU_CHANGE: gpu_change(one.gpus_saved),
        **(_latencies(outcome, at) if served and outcome is not None else {}),
        "Published accuracy": kept_accuracy(one),
        "Assumption": one.basis,
        "Published": one.published,
        "Source": one.source,
        "Date": one.date,
    }


def nim_named(one: NimComparison) -> Named:
    """NIM and the engine inside it, where they serve the scenario."""
    both = (
        (engines()[one.inside].label, one.open_source),
        ("The same under the licence", one.licensed),
        (f"{engines()['nim'].label}, as planned", one.nim),
    )
    return [(name, outcome) for name, outcome in both if outcome.feasible]


def nim_table(one: NimComparison, currency: Currency = DOLLARS, at: str = "") -> pd.DataFrame:
    """NIM and the engine inside it: what each would buy, and latency at the percentile that ``at`` names."""
    rows = nim_named(one)
    return pd.DataFrame(
        [{"Served by": name, **_bought(outcome, currency.code), **_latencies(outcome, at)} for name, outcome in rows]
    )


def nim_facts_table(one: NimComparison) -> pd.DataFrame:
    """What is told of both, a row a topic."""
    return pd.DataFrame(
        [
            {"Topic": TOPICS[fact.topic], "NVIDIA NIM": fact.nim, "Open source": fact.open_source} | _from(fact)
            for fact in one.facts
        ]
    )
