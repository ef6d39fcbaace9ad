"""Workload, limits, hardware, assumptions: what is asked first, and what is one click away.

What decides about other fields is read from the session: the field that holds it may stand below them, or behind a
click and so not be drawn.
"""

from functools import partial
from typing import assert_never

import streamlit as st

from sharing.form.choices import label
from sharing.form.lengths import length_tokens, prompt
from sharing.form.presets import preset_of, presets
from sharing.form.problems import UnreadableInput
from sharing.form.read import OWN_GPU, mode_of
from sizing.base.choices import Mode
from sizing.base.format import count, counted
from sizing.scenario.schema import Benchmark
from ui import state
from ui.format import as_markdown
from ui.inputs.faults import Places, places_kept
from ui.inputs.given import draw_given
from ui.inputs.model import draw_model
from ui.inputs.trace import draw_trace, draw_upload
from ui.inputs.widgets import behind_a_click, dropdown, long_text, segments, several, switch, text

_PRESET = "preset"
_LOADS = {
    "rps": ("rps",),
    "average": ("avg", "avg_pct"),
    "users": ("users", "per_user"),
    "batch": ("docs_month", "per_doc"),
}
_SESSION = (("s_turns", "s_answer"), ("s_first", "s_shared"), ("s_kinds", "s_user"), ("s_tool", "s_think"), ("s_run",))


def draw() -> Places:
    """The whole form; returns where to say what is wrong with a field."""
    places = Places()
    with places_kept(places):
        for group in (_workload, _limits, _hardware, _assumptions):
            with st.container(border=True, gap="xsmall"):
                group()
    return places


def draw_presets() -> None:
    """The choice of a starting point, which fills in the whole form; chosen is the one that the form holds."""
    chosen = preset_of(state.values())
    st.session_state[_PRESET] = chosen
    st.selectbox(
        "Start from an example",
        list(presets()),
        key=_PRESET,
        index=None,
        required=True,
        format_func=lambda key: presets()[key].title,
        on_change=_load,
        label_visibility="collapsed",
        placeholder="Start from an example",
        width=240,
        help=presets()[chosen].evidence if chosen else "Fills in the whole form.",
    )


def _load() -> None:
    if st.session_state[_PRESET]:
        state.load_preset(st.session_state[_PRESET])


def _workload() -> None:
    st.markdown("**Workload**")
    first = st.container(gap="xsmall")
    unit = label("unit", state.value("unit")).lower()
    behind_a_click("More on the workload, or from a trace", partial(_more_of_workload, unit), key="more_workload")
    draw_trace()
    with first:
        _first_of_workload(unit)


def _more_of_workload(unit: str) -> None:
    draw_upload()
    text("growth", "cv")
    text("profile")
    dropdown("unit")
    if unit != "tokens":
        dropdown("lang")
        text("ratio")
    if switch("compose"):
        text("system", "question", unit=unit)
        text("docs")
        text("doc", unit=unit)
        text("turns")
    text("isl95", "osl95")
    _beside_text()
    _adapters()
    long_text("stages")
    text("name")


def _beside_text() -> None:
    """What requests bring beside text."""
    text("scans", "sound")
    text("pics")
    if state.value("pics"):
        text("pics_w", "pics_h")


def _adapters() -> None:
    if switch("lora"):
        text("lora_n", "lora_rank")
        text("lora_kept", "lora_zipf")
        text("lora_gbs")
        segments("lora_on")


def _first_of_workload(unit: str) -> None:
    draw_model()
    if state.value("load") != "sessions":
        text(*(("osl",) if state.value("compose") else ("isl", "osl")), unit=unit)
        _in_tokens()
    segments("load", labelled=False)
    if state.value("load") != "sessions":
        text(*_LOADS[state.value("load")])
    if state.value("load") == "sessions":
        _sessions()
    if state.value("load") == "users":
        text("hours", "p2m")
    if state.value("load") == "batch":
        text("deadline", "window", "week")


def _sessions() -> None:
    """How many sessions, and what one is like."""
    segments("s_by", labelled=False)
    text("s_once" if state.value("s_by") == "at_once" else "s_hour")
    for pair in _SESSION:
        text(*pair)


def _in_tokens() -> None:
    """What lengths in another unit, or a prompt built from parts, come to."""
    if not state.value("compose") and state.value("unit") == "tokens":
        return
    now = state.values()
    try:
        if now["compose"]:
            st.caption(f"Prompt: {prompt(now).explanation}")
        else:
            st.caption(f"{count(length_tokens(now, 'isl'))} tokens in, {count(length_tokens(now, 'osl'))} tokens out")
    except (UnreadableInput, ValueError):
        return  # the answer says what is wrong


def _limits() -> None:
    st.markdown("**Limits**")
    first = st.container(gap="xsmall")
    mode: Mode = mode_of(state.values())
    if state.value("load") == "batch":
        st.caption("Documents that nobody waits for: no latency limit, maximum throughput.")
        return
    behind_a_click("More limits", partial(_more_limits, mode), key="more_limits")
    with first:
        match mode:
            case "streaming":
                text("ttft", "itl")
            case "sequential":
                text("e2e")
            case "offline":
                st.caption("Offline: no latency limit, maximum throughput.")
            case unknown:
                assert_never(unknown)


def _more_limits(mode: Mode) -> None:
    segments("mode")
    if mode == "streaming":
        text("e2e")
    text("pct")


def _hardware() -> None:
    st.markdown("**Hardware**")
    first = st.container(gap="xsmall")
    behind_a_click("More on the hardware", _more_hardware, key="more_hardware")
    with first:
        several("gpu")
        _own_left_out()
        switch("proven")
        segments("where")
        draw_given(
            "You have servers already?",
            "systems",
            key="servers_given",
            icon=":material/dns:",
            help="What servers, GPUs, a budget or power that are given serve of this scenario: on Explore.",
        )
        if state.restricted():
            st.button(
                "Consider all hardware again",
                on_click=state.consider_all,
                key="all_hardware",
                width="stretch",
                icon=":material/restart_alt:",
                help="Takes back every choice of GPU, engine, parallelism and drafts.",
            )


def _more_hardware() -> None:
    several("engine")
    several("prec")
    switch("accurate")
    for key in ("kv", "tp", "pp", "ep", "dp", "serving"):
        several(key)
    if "disaggregated" in state.value("serving"):
        text("pre", "dec")
    text("batch")
    text("slice", "mixed")
    if switch("own", on_change=state.add_own_gpu):
        text("own_name")
        text("own_mem", "own_bw")
        text("own_fp16", "own_bf16")
        text("own_fp8", "own_int8")
        text("own_fp4")
        text("own_link", "own_domain")
        text("own_watts", "own_usd")


def _own_left_out() -> None:
    """Says that the GPUs that are chosen leave the accelerator of one's own out."""
    chosen = state.value("gpu")
    if not state.value("own") or not chosen or OWN_GPU in chosen:
        return
    name = state.value("own_name").strip() or "Your accelerator"
    st.caption(f":material/filter_alt: {as_markdown(name)} is left out: the choice above names others.")
    st.button("Consider it too", key="own_too", on_click=state.add_own_gpu, help="Adds it to the choice above.")


def _assumptions() -> None:
    st.markdown("**Assumptions**")
    draw_in_use()
    segments("confidence")
    if switch("meas"):
        dropdown("m_sys")
        text("m_rps")
        text("m_ttft", "m_itl")
        text("m_source")
    behind_a_click("More assumptions", _more_assumptions, key="more_assumptions")


def _more_assumptions() -> None:
    text("util", "spare")
    segments("redundancy")
    text("mem")
    if state.value("load") != "sessions":
        text("cached")
    dropdown("route")
    dropdown("weights_from")
    if state.value("weights_from") != "unstated":
        text("weights_rate")
        segments("loader")
        dropdown("standby")
    if switch("offload"):
        dropdown("off_tier")
        text("off_gib", "off_gbs")
        text("off_usd")
    segments("drafts")
    if switch("spec"):
        text("draft", "accept")
        text("draft_cost")
    segments("obj")
    segments("steps")
    dropdown("usd_of", placeholder="None")
    text("usd_system")
    dropdown("usd_gpu", placeholder="None")
    text("usd_hour")
    text("years")


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
