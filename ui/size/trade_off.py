"""From fewest GPUs to lowest latency: a slider over the deployments in between, and what each step costs."""

import streamlit as st

from sharing.form.choices import label
from sharing.report.answer import gpu_span
from sizing.base.format import a_month, counted, ms, rounded_up, significant, with_noun
from sizing.base.result import Candidate
from ui import state
from ui.figures.trade_off import build_trade_off, e2e_of, trade_off_alt_text
from ui.shell import draw_chart
from ui.size.above import draw_estimates
from ui.size.key_figures import parallelism, with_coverage
from ui.state import FormAnswer


def describe(candidate: Candidate, answer: FormAnswer) -> str:
    """A deployment in a few words: GPUs, engine, precision, parallelism."""
    chosen = candidate.deployment
    return (
        f"{chosen.gpus} x {answer.question.gpu_name(chosen.gpu)}, {label('engine', chosen.engine)}, "
        f"{label('prec', chosen.weight_precision)}, {parallelism(chosen)}"
    )


def draw_trade_off(answer: FormAnswer, *, dark: bool) -> None:
    """Slider, what it selects, and the chart."""
    steps = answer.plan.trade_off
    if len(steps) < 2:
        st.caption("On this GPU, engine and format more GPUs make nothing faster: there is nothing to trade.")
        return
    at = f"p{answer.scenario.limits.percentile:g}"
    position = (
        st.select_slider(
            "From fewest GPUs to lowest latency",
            range(len(steps)),
            key="trade_step",
            persist_state="page",
            format_func=lambda step: (
                f"{counted(steps[step].deployment.gpus, 'GPU')}, {at} E2E {e2e_of(steps[step], steps)}"
            ),
            help="Left: fewest GPUs. Right: lowest latency. Every step is the best deployment at its number of GPUs.",
        )
        if st.session_state.get("trade_step", 0) in range(len(steps))
        else 0
    )
    _selected(steps[position], answer, fewest=position == 0)
    draw_estimates(answer.plan)
    draw_chart(
        build_trade_off(
            answer.plan, selected=position, limits=answer.scenario.limits, name=answer.question.gpu_name, dark=dark
        ),
        key="trade_chart",
        alt=trade_off_alt_text(
            answer.plan, selected=position, limits=answer.scenario.limits, name=answer.question.gpu_name
        ),
    )


def _selected(chosen: Candidate, answer: FormAnswer, *, fewest: bool) -> None:
    """What a step gives, and the button that asks for it. A range of what the load needs is told of the fewest GPUs
    alone: a larger step has more than it needs."""
    at, systems = f"p{answer.scenario.limits.percentile:g}", chosen.deployment.systems
    span = gpu_span(chosen.gpus_low, chosen.gpus_high) if fewest else ""
    range_of_gpus = f"{with_coverage(with_noun(span, 'GPU'))}, " if span else ""
    facts = (
        f"**{describe(chosen, answer)}**: {counted(systems, 'system')}, "
        f"{range_of_gpus}{at} TTFT {ms(chosen.ttft_ms)}, "
        f"{at} ITL {ms(chosen.itl_ms)}, {significant(chosen.output_tokens_per_s_per_gpu)} output tokens/s per GPU, "
        f"{a_month(chosen.hardware_usd_per_month)}."
    ).replace("$", r"\$")
    words, action = st.columns([5, 2], vertical_alignment="center")
    words.markdown(facts)
    if fewest:
        action.button(
            "Use this deployment",
            key="use_trade",
            on_click=state.use_candidate,
            args=(chosen, answer.scenario),
            icon=":material/check:",
            help="Restricts the form to this deployment.",
            width="stretch",
        )
        return
    limit = rounded_up(chosen.e2e_ms)
    action.button(
        "Ask for this latency",
        key="ask_trade",
        on_click=state.ask_for_latency,
        args=(chosen, limit, answer.scenario),
        icon=":material/speed:",
        help=f"Sets the E2E limit to {ms(limit)} and restricts the form to this GPU, engine, format and parallelism: "
        "as many instances are planned as it takes.",
        width="stretch",
    )
