import streamlit as st

from ui import inputs, shell, state
from ui.figures.load_curve import build_load_curve, load_curve_alt_text
from ui.figures.memory import build_memory_bar, memory_alt_text
from ui.format import as_markdown
from ui.size.answer import draw_outcome, draw_warnings
from ui.size.day import draw_day
from ui.size.evidence import draw_business, draw_evidence
from ui.size.export import draw_downloads
from ui.size.key_figures import draw_key_figures
from ui.size.origin import draw_curve_origin
from ui.size.simulate import draw_simulate
from ui.size.tables import draw_alternatives, draw_excluded
from ui.size.trade_off import draw_trade_off

shell.require("size")
top = shell.header("Size")
dark = st.context.theme.type == "dark"

if shell.on_a_phone():  # one column: the answer comes before the questions
    said, form, results = st.container(), st.container(), st.container()
else:
    form, right = st.columns([1, 2], gap="medium")
    said, results = right.container(), right.container()
with form:
    inputs.draw()
with top:
    shell.chip(state.value("name"))
    inputs.draw_presets()

with said:
    for note in state.link_notes():
        st.warning(as_markdown(note), icon=":material/link:")
    answer = draw_outcome(state.outcome())
with results:
    if answer is not None:
        plan, limits = answer.plan, answer.scenario.limits
        draw_key_figures(plan, answer.scenario)
        draw_warnings(answer, "warning", "info")
        memory, trade, load, hour, whole_day, ranked, why, export = st.tabs(
            [
                "Memory",
                "Throughput or latency",
                "Load curve",
                "Simulate",
                "Over the day",
                "Alternatives",
                "Why",
                "Export",
            ],
            key="view",
            on_change="rerun",
            bind="query-params",
        )
        if memory.open:
            with memory:
                shell.draw_chart(build_memory_bar(plan, dark=dark), key="memory", alt=memory_alt_text(plan))
                st.markdown("**What this serves**")
                draw_business(plan.business)
        if trade.open:
            with trade:
                draw_trade_off(answer, dark=dark)
        if load.open:
            with load:
                shell.draw_chart(
                    build_load_curve(plan, limits=limits, dark=dark),
                    key="load_curve",
                    alt=load_curve_alt_text(plan, limits=limits),
                )
                draw_curve_origin(plan, limits)
        if hour.open:
            with hour:
                draw_simulate(answer, dark=dark)
        if whole_day.open:
            with whole_day:
                draw_day(answer, dark=dark)
        if ranked.open:
            with ranked:
                draw_alternatives(answer)
                draw_excluded(answer)
        if why.open:
            with why:
                draw_evidence(plan, answer.scenario)
        if export.open:
            with export:
                draw_downloads(answer)

state.mark_link()
shell.footer()
