"""Scenarios side by side: small multiples of cost, latency, power and memory, and their numbers as a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from sharing.form.choices import label
from sizing.base.format import percent, significant
from sizing.base.units import MS_PER_S
from sizing.decision.comparison import Compared, Comparison
from sizing.decision.outcome import Outcome
from sizing.decision.text import name_of, shown
from ui.currency import DOLLARS, Currency
from ui.figures.template import LEAST_END, TEXT_SIZE, axis, hardware_look, layout, message, quick_figure
from ui.format import known


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One small chart: what it shows of an answer, how its numbers are written, in the unit of the title, and what is
    to be known beside one of them."""

    title: str
    of: Callable[[Outcome], float | None]
    written: Callable[[float], str]
    note: Callable[[Outcome], str] = lambda _: ""

    def text(self, one: Outcome) -> str:
        """The number of an answer with what is to be known beside it; empty where there is none."""
        value = self.of(one)
        return "" if value is None else f"{self.written(value)}{self.note(one)}"


def _of_bought(one: Outcome) -> str:
    """How many GPUs the systems have, where not all of them are in use."""
    return "" if one.gpus_bought in (None, one.gpus) else f" of {one.gpus_bought:,}"


def measures(currency: Currency = DOLLARS, at: str = "") -> tuple[Measure, ...]:
    """What is shown of every answer, its cost in ``currency``, which was rounded to add up, first; latencies at the
    percentile that ``at`` names ("p95 ")."""
    return (
        Measure(
            title=f"All costs ({currency.code} a month)", of=lambda one: one.usd_per_month, written=currency.in_full
        ),
        Measure(
            title="GPUs in use, of those bought",
            of=lambda one: one.gpus,
            written=lambda x: f"{x:,.0f}",
            note=_of_bought,
        ),
        Measure(title=f"{at}TTFT (ms)", of=lambda one: one.ttft_ms, written=significant),
        Measure(title=f"{at}ITL (ms)", of=lambda one: one.itl_ms, written=significant),
        Measure(title="Power (kW)", of=lambda one: one.power_kw, written=significant),
        Measure(title="Memory in use", of=lambda one: one.memory_used, written=percent),
    )


def percentile_of(comparison: Comparison, percentile: float) -> str:
    """ "p95 ", the percentile that is asked of every scenario; empty where they ask for several."""
    several = any(one.key == "limits.percentile" for one in comparison.differences)
    return "" if several else f"p{percentile:g} "


_ROW_PX, _LINE_PX, _AROUND_PX, _LABEL, _LINES = 34, 15, 60, 18, 3
"""Height of a bar, of each further line of its name and of what stands around the bars; characters of a line of a name,
and lines before it is cut."""

_NUMBER_PX = 58
"""Room behind the longest bar, in pixels: its number stands there ("$16.1k", "7 of 8"), in any window."""


Named = Sequence[tuple[str, Outcome]]
"""Outcomes with the names that stand beside their bars."""


def named(comparison: Comparison) -> Named:
    """The outcomes of a comparison."""
    return [(one.name, one.outcome) for one in comparison.scenarios]


def build_measure(outcomes: Named, measure: Measure, *, dark: bool = False) -> go.Figure:
    """One bar per outcome, the first on top."""
    values = [measure.of(outcome) for _, outcome in outcomes]
    if not any(value is not None for value in values):
        return message("Not known for any of them.", dark=dark)
    names = [_lines(name) for name, _ in outcomes]
    looks = [hardware_look(outcome.gpu, dark=dark) for _, outcome in outcomes]
    bars: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": names,
        "text": [measure.text(outcome) or "nothing serves it" for _, outcome in outcomes],
        "textposition": "outside",
        "textfont": {"size": TEXT_SIZE},
        "marker": {"color": [look.colour for look in looks]},
        "hovertemplate": "%{y}: %{text}<extra></extra>",
        "cliponaxis": False,
    }
    most = max(value for value in values if value is not None)
    return quick_figure(
        [bars],
        layout(
            dark=dark,
            height=_AROUND_PX + sum(_ROW_PX + _LINE_PX * name.count("<br>") for name in names),
            showlegend=False,
            bargap=0.25,
            title={"text": measure.title, "x": 0, "xanchor": "left", "font": {"size": TEXT_SIZE + 1}},
            margin={"l": 8, "r": _NUMBER_PX, "t": 36, "b": 8},
            xaxis={"range": [0, max(most, LEAST_END)], "visible": False},
            yaxis=axis("", autorange="reversed", type="category", ticksuffix=" "),
        ),
    )


def _lines(name: str) -> str:
    """A name in lines beside its bar."""
    return "<br>".join(wrap(name, _LABEL, max_lines=_LINES, placeholder="…")) or name


def measure_alt_text(outcomes: Named, measure: Measure) -> str:
    """The chart in one sentence, for those who do not see it."""
    parts = []
    for name, outcome in outcomes:
        parts.append(f"{name} {measure.text(outcome) or 'not known'}")
    return f"{measure.title}: {', '.join(parts)}."


def differences_table(comparison: Comparison) -> pd.DataFrame:
    """Inputs that are not the same everywhere, a column per scenario."""
    return pd.DataFrame(
        [
            {
                "Input": name_of(d.key),
                **dict(zip(_columns(comparison), (_shown(d.key, v) for v in d.values), strict=True)),
            }
            for d in comparison.differences
        ]
    )


def _shown(key: str, value: Any) -> str:
    """A value by the names that the form has for it."""
    return label("where", value) if key == "deployment.location" and value else shown(key, value)


def answers_table(comparison: Comparison, currency: Currency = DOLLARS, at: str = "") -> pd.DataFrame:
    """What each scenario leads to, and how far that is from the first."""
    return pd.DataFrame([_row(one, currency.code, at) for one in comparison.scenarios])


def side_by_side(comparison: Comparison, currency: Currency = DOLLARS, at: str = "") -> pd.DataFrame:
    """The same with a column per scenario, as the inputs that differ stand: five of them fit a window."""
    table = answers_table(comparison, currency, at).drop(columns=["Scenario", "low", "high"])
    costs, more = list(table)[:2]
    turned = {
        name: [_cell(value, in_full=head in (costs, more)) for head, value in row.items()]
        for name, (_, row) in zip(_columns(comparison), table.astype(object).iterrows(), strict=True)
    }
    ends = {
        name: "" if one.outcome.low is None else f"{_cell(known(one.outcome.low))} to {_cell(known(one.outcome.high))}"
        for name, one in zip(_columns(comparison), comparison.scenarios, strict=True)
    }
    rows = [{"Answer": head} | {name: cells[n] for name, cells in turned.items()} for n, head in enumerate(table)]
    return pd.DataFrame([rows[0], {"Answer": "low to high"} | ends, *rows[1:]])


def _cell(value: Any, *, in_full: bool = False) -> str:
    """A cell as text; an amount that was rounded to add up has all of its digits."""
    if value is None or pd.isna(value):
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,.10g}" if in_full else f"{value:,.6g}"


def _columns(comparison: Comparison) -> list[str]:
    """Names of the scenarios, told apart where two have the same."""
    names: list[str] = []
    for one in comparison.scenarios:
        same = sum(one.name == name.split(" (")[0] for name in names)
        names.append(f"{one.name} ({same + 1})" if same else one.name)
    return names


def _row(one: Compared, code: str, at: str) -> dict[str, Any]:
    answer = one.outcome
    seconds = None if answer.e2e_ms is None else answer.e2e_ms / MS_PER_S
    return {
        "Scenario": one.name,
        f"All costs ({code} a month)": answer.usd_per_month,
        "low": known(answer.low),
        "high": known(answer.high),
        f"more than the first ({code})": one.usd_more,
        "GPUs": answer.gpus,
        "GPUs bought": answer.gpus_bought,
        "GPU": answer.gpu_name or "none",
        "Weights": label("prec", answer.precision),
        "Engine": label("engine", answer.engine),
        "Systems": answer.systems,
        f"{at}TTFT (ms)": known(answer.ttft_ms),
        f"{at}ITL (ms)": known(answer.itl_ms),
        f"{at}E2E (s)": known(seconds),
        "Power (kW)": known(answer.power_kw),
        "System": answer.system,
        "Limited by": answer.limited_by if answer.feasible else "nothing serves it within the limits",
    }
