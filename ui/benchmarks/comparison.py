"""Predicted against measured: figures, chart, table, and what to do with the benchmark."""

import math
from collections.abc import Iterable, Sequence

import pandas as pd
import streamlit as st

from collectors.benchmarks import BenchmarkRun, MeasuredSystem
from collectors.benchmarks.tools.own_csv import write_csv
from sizing.base.errors import InvalidBenchmark, SizingError
from sizing.base.format import UNKNOWN, counted, interval, percent, rounded, significant
from sizing.base.units import MS_PER_S
from sizing.calibration.benchmark import speed
from sizing.calibration.calibrated import WIDEST, CalibratedConfiguration
from sizing.calibration.check import QUANTITIES, Check, Quantity, check
from sizing.calibration.fit import NOISE
from sizing.catalog import resolve_model
from sizing.catalog.model import Model
from sizing.evidence.protocols import assumed_variation
from sizing.scenario.schema import Benchmark, BenchmarkPoint
from ui import state
from ui.benchmarks.scenario import MOST_POINTS, benchmark_of, use_with_model
from ui.figures.benchmark import LOAD_TITLES, benchmark_alt_text, build_benchmark, load_of, words
from ui.format import as_markdown, listed
from ui.shell import draw_chart, draw_choice, draw_download, draw_figure, draw_problems, grouped, in_percent

_SHORT: dict[Quantity, str] = {
    "itl_ms": "ITL",
    "ttft_ms": "TTFT",
    "ttft_p99_ms": "p99 TTFT",
    "output_tokens_per_s": "Output tokens/s",
}
NOTABLE = 1.5
"""From this ratio of measured to predicted times on, decode times are what is said to be far off, else prompts."""

FAR_OFF = 3.0
"""Prior standard deviations from which on the description is more likely wrong than the engine slow."""

COHORT = (
    "This benchmark keeps a fixed number of requests in flight (closed loop): they start together and wait for each "
    "other, which sets their TTFT. It is compared with a prediction of the same protocol, and never with the "
    "TTFT at a request rate that Size plans for."
)
LAST_IN_A_HUNDRED = (
    "It is compared, and calibrates nothing: a p99 is mostly queueing and chance. Its interval holds how far step "
    "times may be off; that a run of fewer than some thousand requests scatters widely comes on top."
)


def draw_comparison(
    curve: tuple[BenchmarkRun, ...], stated: MeasuredSystem | None, scenario_model: Model, *, dark: bool
) -> None:
    """Everything below the description of what was measured; nothing while that is incomplete."""
    if stated is None:
        return
    benchmark, left_out = benchmark_of(curve, stated)
    for fault in left_out:
        where = f"{as_markdown(fault.file)}, row {fault.row}"
        st.warning(f"{where}: {as_markdown(fault.message)} This run is not compared.", icon=":material/warning:")
    if benchmark is None:
        st.error(
            "No run of this curve says enough to be compared: it needs lengths, a load and something measured. "
            "Download it as CSV, fill in what is missing, and drop that file here.",
            icon=":material/error:",
        )
        _download(curve, stated)
        return
    if len(curve) - len(left_out) > MOST_POINTS:
        st.info(
            f"{MOST_POINTS} of {counted(len(curve), 'run')}, spread evenly over the loads, are compared and used.",
            icon=":material/info:",
        )
    try:
        same = stated.model == scenario_model.id
        model = scenario_model if same else resolve_model(stated.model or "").model
        checked = check(benchmark, model)
    except SizingError as error:
        draw_problems((error.sentences if isinstance(error, InvalidBenchmark) else error.problems)[:1])
        return
    st.subheader("Predicted against measured", anchor=False)
    _figures(checked)
    _chart_and_table(benchmark, checked, dark=dark)
    _actions(curve, stated, benchmark, checked, scenario_model=scenario_model)


def _figures(checked: Check) -> None:
    calibrated = checked.calibrated
    itl = [r for r in checked.rows if r.quantity == "itl_ms"] or [
        r for r in checked.rows if r.quantity == "output_tokens_per_s"
    ]
    of = "Throughput" if itl and itl[0].quantity != "itl_ms" else "ITL"
    inside = f"{sum(r.within for r in itl)} of {len(itl)}" if itl else UNKNOWN
    others = checked.left_out_median
    now = calibrated.interval("decode", calibrated.highest)
    figures = (
        (
            f"{of} error before",
            percent(calibrated.before) if itl else UNKNOWN,
            "Median error, predicted without this benchmark: of ITL, or of throughput where no ITL was measured.",
        ),
        (
            f"{of} error after",
            percent(others) if others is not None else UNKNOWN,
            "Median error with each point predicted by a calibration on the other points: what to expect at a load "
            "that was not measured. Needs two points.",
        ),
        (f"{of} in 80 % interval", inside, "Measured points inside the interval of the uncalibrated prediction."),
        (
            "Decode interval after",
            f"±{percent(now.high_factor - 1)}" if now.high_factor < math.exp(WIDEST) else UNKNOWN,
            "80 % interval of decode times of this deployment once it is calibrated, at the highest load measured.",
        ),
    )
    with st.grid(4, min_column_width=150, gap="small", border=True):
        for title, value, help_text in figures:
            draw_figure(title, value, help=help_text)
    st.caption(
        f"Calibration on {counted(calibrated.calibration_points, 'point')}: "
        f"decode step = {significant(calibrated.decode)} x predicted {'-' if calibrated.step_s < 0 else '+'} "
        f"{significant(abs(calibrated.step_s) * MS_PER_S, 2)} ms, prompt = "
        f"{significant(calibrated.prefill)} x predicted; shrunk towards the prediction where the points cannot tell."
    )
    _doubts(calibrated, others)


def _doubts(calibrated: CalibratedConfiguration, others: float | None) -> None:
    """What speaks against the benchmark or its description, the worst first."""
    checked = "model, GPU, engine, precision and parallelism above"
    if calibrated.of_something_else:
        st.error(
            f"This ran {speed(calibrated)} as predicted, which no calibration of this deployment explains: check "
            f"{checked}, and that times are in the unit of their column (ms, not s).",
            icon=":material/error:",
        )
    elif calibrated.surprise > FAR_OFF:
        far = max(calibrated.ratio, 1 / calibrated.ratio) > NOTABLE
        what = (
            f"This ran {speed(calibrated)} as predicted"
            if far
            else (f"Prompts took {significant(calibrated.prefill, 2)} times as long as predicted")
        )
        st.warning(
            f"{what}, which is rare: check {checked}, and whether a cache answered, before using it.",
            icon=":material/warning:",
        )
    if others is not None and others > max(calibrated.before, NOISE):
        st.warning(
            f"Each point predicted from the others is off by {percent(others)}, more than without calibration: "
            f"the points contradict each other or what is stated above. Using them improves nothing.",
            icon=":material/warning:",
        )


def _chart_and_table(benchmark: Benchmark, checked: Check, *, dark: bool) -> None:
    shown = [q for q in QUANTITIES if any(r.quantity == q for r in checked.rows)]
    if not shown:
        return
    quantity = draw_choice(
        "Quantity",
        {quantity: _SHORT[quantity] for quantity in shown},
        key="benchmark_quantity",
        help="What is compared.",
        kept="nowhere",
        labelled=False,
    )
    points = benchmark.points
    draw_chart(
        build_benchmark(points, checked.rows, quantity, dark=dark),
        key=f"benchmark_chart_{quantity}",
        alt=benchmark_alt_text(points, checked.rows, quantity),
    )
    for note in notes_on(benchmark, checked, quantity):
        st.caption(f":material/info: {note}")
    table, written = in_percent(comparison_table(benchmark, checked, quantity), "Error", "Error from the other points")
    st.dataframe(
        table,
        hide_index=True,
        key="benchmark_compared",
        alt=f"Predicted and measured {words(quantity, points[0].mode).name} point by point",
        column_config=grouped(table) | written,
    )


def comparison_table(benchmark: Benchmark, checked: Check, quantity: Quantity) -> pd.DataFrame:
    """One point a row: measured, predicted with interval, error, whether within, and after calibration."""
    unit = "tokens/s" if quantity == "output_tokens_per_s" else "ms"
    rows = []
    for r in (r for r in checked.rows if r.quantity == quantity):
        point = benchmark.points[r.point]
        row = {
            LOAD_TITLES[point.mode]: rounded(load_of(point, r)),
            f"Measured ({unit})": rounded(r.measured),
            f"Predicted ({unit})": rounded(r.predicted),
            f"80 % interval ({unit})": interval(r.low, r.high),
            "Error": rounded(r.error, 2),
            "Within the interval": "yes" if r.within else "no",
            f"After calibration ({unit})": rounded(r.calibrated),
        }
        if quantity == "itl_ms" and checked.left_out:
            row["Error from the other points"] = rounded(checked.left_out[r.point], 2)
        rows.append(row)
    return pd.DataFrame(rows)


def _actions(
    curve: tuple[BenchmarkRun, ...],
    stated: MeasuredSystem,
    benchmark: Benchmark,
    checked: Check,
    *,
    scenario_model: Model,
) -> None:
    same_model = stated.model == scenario_model.id
    in_use = state.benchmark() == benchmark.model_dump(mode="json")
    with st.container(horizontal=True):
        if same_model and in_use:
            st.button(
                "Remove from this scenario",
                key="benchmark_unuse",
                icon=":material/close:",
                on_click=state.remove_benchmark,
                help="Sizes without the benchmark again.",
            )
        else:
            _draw_use(benchmark, same_model=same_model, disabled=checked.calibrated.of_something_else)
        _download(curve, stated)
    if not same_model:
        st.info(
            f"The scenario asks for {as_markdown(scenario_model.id)}, so this benchmark says nothing about it.",
            icon=":material/info:",
        )
    elif in_use:
        st.success(
            "In use: Size calibrates exactly this deployment with it. A link does not carry it, and a reload of "
            "the page loses it; the scenario file (Size, Export) keeps it.",
            icon=":material/check_circle:",
        )
        st.page_link(
            "pages/size.py", label="Back to Size", icon=":material/straighten:", query_params=state.address_of("size")
        )


def _draw_use(benchmark: Benchmark, *, same_model: bool, disabled: bool) -> None:
    """The button that sizes with the benchmark, and with its model where the scenario asks for another one."""
    st.button(
        "Use for this scenario" if same_model else f"Size {as_markdown(benchmark.model or '')} with it",
        key="benchmark_use" if same_model else "benchmark_use_model",
        type="primary",
        icon=":material/check:",
        on_click=state.use_benchmark if same_model else use_with_model,
        args=(benchmark,),
        disabled=disabled,
        help="Size then uses the calibrated step times for exactly this deployment."
        if same_model
        else "Changes the scenario's model to the one that was measured, and uses the benchmark.",
    )


def _download(curve: tuple[BenchmarkRun, ...], stated: MeasuredSystem) -> None:
    draw_download(
        "Download as CSV",
        lambda: write_csv(curve, stated),
        "benchmark.csv",
        "text/csv",
        key="benchmark_csv",
        icon="table",
        help="One run a row, in the columns of the own CSV, with what is stated above.",
    )


def notes_on(benchmark: Benchmark, checked: Check, quantity: Quantity) -> list[str]:
    """What stands between the chart and the table of a quantity."""
    notes, latency = [], quantity != "output_tokens_per_s"
    if checked.unstable and latency:
        notes.append(_unstable(benchmark, checked))
    if checked.overloaded and latency:
        notes.append(_overloaded(benchmark, checked))
    if quantity == "ttft_ms" and any(p.mode == "fixed_concurrency" for p in benchmark.points):
        notes.append(COHORT)
    if quantity == "ttft_p99_ms":
        notes.append(LAST_IN_A_HUNDRED)
    if offline := [p for p in benchmark.points if p.mode == "offline" and not latency]:
        notes.append(_offline(offline))
    return notes


def _offline(points: Sequence[BenchmarkPoint]) -> str:
    """What an offline run is compared with: it ends with its longest answer, when few requests are left."""
    if not any(p.requests for p in points):
        return "The file does not say how many requests the offline run sent: it is compared with one that never ends."
    if all(p.output_variation is not None for p in points):
        varied = "vary in length as they did"
    else:
        equal = not any(assumed_variation(p.output_tokens) for p in points if p.output_variation is None)
        varied = f"are taken {'to be of equal length' if equal else 'to vary in length as those of ShareGPT'}"
    return (
        "An offline run ends with its longest answer, when few requests are left, and its rate counts to that end. It "
        f"is compared with a run of as many requests whose answers {varied}."
    )


def _unstable(benchmark: Benchmark, checked: Check) -> str:
    """Why points at a request rate have no predicted latency."""
    return (
        f"Unstable at {_rates(benchmark, checked.unstable)} requests/s: more than the "
        f"{significant(min(checked.unstable.values()))} that the prediction carries for ever. There a queue grows for "
        "as long as the run lasts, so that no latency is compared."
    )


def _overloaded(benchmark: Benchmark, checked: Check) -> str:
    """What the upper end of an interval is where slow step times have none."""
    return (
        f"At {_rates(benchmark, checked.overloaded)} requests/s an engine as slow as the interval allows would not "
        "keep up, and its queue would grow for as long as the run lasts. The upper end there is the latency at the "
        "heaviest load that such an engine carries."
    )


def _rates(benchmark: Benchmark, points: Iterable[int]) -> str:
    return listed([significant(r) for r in sorted({benchmark.points[i].request_rate_rps or 0.0 for i in points})])
