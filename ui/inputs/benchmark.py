"""The imported benchmark on the Size page: what it is, what it applies to, and the way to be rid of it."""

from __future__ import annotations

import streamlit as st

from sharing.form.choices import label
from sizing.scenario.schema import Benchmark
from ui import state
from ui.format import as_markdown, counted


def draw_in_use() -> None:
    """The benchmark that calibrates the scenario; nothing where there is none."""
    benchmark = state.benchmark()
    if benchmark is None:
        return
    with st.container(border=True, gap="xsmall", key="benchmark_block"):
        st.markdown(f":material/speed: **Measured benchmark in use**: {as_markdown(describe(benchmark))}")
        st.caption(
            "Calibrates this deployment only; others keep the prediction. Links do not carry it, the scenario "
            "file does."
        )
        with st.container(horizontal=True, gap="small"):
            st.button(
                "Only this deployment",
                key="benchmark_only",
                on_click=state.consider_only_measured,
                icon=":material/filter_alt:",
                help="Restricts GPU, engine, precision and parallelism to what was measured.",
            )
            st.button(
                "Remove",
                key="benchmark_remove",
                on_click=state.remove_benchmark,
                icon=":material/close:",
                help="Sizes without the benchmark again.",
            )


def describe(benchmark: dict[str, object]) -> str:
    """What was measured in a few words: "Llama-3.3-70B on H100 SXM5 80GB, vLLM, FP8 (W8A8), TP4; 7 points"."""
    one = Benchmark.model_validate(benchmark)
    parallelism = " ".join(
        f"{n}{v}" for n, v in (("TP", one.tp), ("PP", one.pp), ("EP", one.ep), ("DP", one.dp)) if v > 1 or n == "TP"
    )
    points = counted(len(one.points), "point")
    where = (
        f"{label('gpu', one.gpu)}, {label('engine', one.engine)}, {label('prec', one.weight_precision)}, {parallelism}"
    )
    return f"{one.model or 'this model'} on {where}; {points}, {one.source or 'source not stated'}"
