"""Scenarios side by side: small multiples of cost, latency, power and memory, and their numbers as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    """One small chart: what it shows of an answer, and how its numbers are written: in the unit of the title."""

    title: str
    of: Callable[[Outcome], float | None]
    written: Callable[[float], str]


_OTHERS = (
    Measure(title="GPUs", of=lambda one: one.gpus, written=lambda x: f"{x:,.0f}"),
    Measure(title="TTFT (ms)", of=lambda one: one.ttft_ms, written=significant),
    Measure(title="ITL (ms)", of=lambda one: one.itl_ms, written=significant),
    Measure(title="Power (kW)", of=lambda one: one.power_kw, written=significant),
    Measure(title="Memory in use", of=lambda one: one.memory_used, written=percent),
)


def measures(currency: Currency = DOLLARS) -> tuple[Measure, ...]:
    """What is shown of every answer, its cost in ``currency``, which was rounded to add up, first."""
    title = f"All costs ({currency.code} a month)"
    return Measure(title=title, of=lambda one: one.usd_per_month, written=currency.in_full), *_OTHERS


_ROW_PX, _AROUND_PX, _LABEL = 34, 60, 24
"""Height of a bar and of what stands around the bars; characters of a name before it is cut."""

_ROOM = 1.75
"""Length of an axis over the longest bar: its number stands behind it."""


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
    looks = [hardware_look(outcome.gpu, dark=dark) for _, outcome in outcomes]
    bars: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": [_short(name) for name, _ in outcomes],
        "text": ["nothing serves it" if v is None else measure.written(v) for v in values],
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
            height=_AROUND_PX + _ROW_PX * len(outcomes),
            showlegend=False,
            bargap=0.25,
            title={"text": measure.title, "x": 0, "xanchor": "left", "font": {"size": TEXT_SIZE + 1}},
            margin={"l": 8, "r": 8, "t": 36, "b": 8},
            xaxis={"range": [0, max(most, LEAST_END) * _ROOM], "visible": False},
            yaxis=axis("", autorange="reversed", type="category", ticksuffix=" "),
        ),
    )


def _short(name: str) -> str:
    return name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"


def measure_alt_text(outcomes: Named, measure: Measure) -> str:
    """The chart in one sentence, for those who do not see it."""
    parts = []
    for name, outcome in outcomes:
        value = measure.of(outcome)
        parts.append(f"{name} {'not known' if value is None else measure.written(value)}")
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
    field = {"deployment.gpus": "gpu", "deployment.precisions": "prec", "deployment.location": "where"}.get(key)
    if field is None or not value:
        return shown(key, value)
    return ", ".join(label(field, one) for one in ([value] if isinstance(value, str) else value))


def answers_table(comparison: Comparison, currency: Currency = DOLLARS) -> pd.DataFrame:
    """What each scenario leads to, and how far that is from the first."""
    return pd.DataFrame([_row(one, currency.code) for one in comparison.scenarios])


def _columns(comparison: Comparison) -> list[str]:
    """Names of the scenarios, told apart where two have the same."""
    names: list[str] = []
    for one in comparison.scenarios:
        same = sum(one.name == name.split(" (")[0] for name in names)
        names.append(f"{one.name} ({same + 1})" if same else one.name)
    return names


def _row(one: Compared, code: str) -> dict[str, Any]:
    answer = one.outcome
    seconds = None if answer.e2e_ms is None else answer.e2e_ms / MS_PER_S
    return {
        "Scenario": one.name,
        "GPUs": answer.gpus,
        "GPU": answer.gpu_name or "none",
        "Weights": label("prec", answer.precision),
        "Engine": label("engine", answer.engine),
        "Systems": answer.systems,
        f"All costs ({code} a month)": answer.usd_per_month,
        "low": known(answer.low),
        "high": known(answer.high),
        f"more than the first ({code})": one.usd_more,
        "TTFT (ms)": known(answer.ttft_ms),
        "ITL (ms)": known(answer.itl_ms),
        "E2E (s)": known(seconds),
        "Power (kW)": known(answer.power_kw),
        "Limited by": answer.limited_by if answer.feasible else "nothing serves it within the limits",
    }
