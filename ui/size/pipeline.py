"""The stages beside the language model, and the whole with it."""

import pandas as pd
import streamlit as st

from sizing.base.format import kilowatts, ms, rounded, usd
from sizing.base.pipeline import Pipeline
from sizing.pipelines.text import Named, bought
from ui.format import as_markdown, known
from ui.state import FormAnswer


def draw_pipeline(answer: FormAnswer) -> None:
    """The table of stages, the totals and what is to be said of them; nothing where none is asked."""
    pipeline, name = answer.plan.pipeline, answer.question.gpu_name
    if pipeline is None:
        return
    with st.container(border=True, gap="xsmall", key="pipeline"):
        st.markdown("**Stages beside the language model**")
        number, text = st.column_config.NumberColumn, st.column_config.TextColumn
        st.dataframe(
            pipeline_table(pipeline, name),
            hide_index=True,
            key="pipeline_stages",
            alt="Each stage with its model, rate, GPUs, latency and cost, then the whole",
            column_config={
                "stage": text("Stage", width=62, pinned=True),
                "model": text("Model", width=172),
                "items": number("Items/s", format="localized", width=62, help="Asked, at the peak."),
                "rate": number(
                    "Per GPU", format="localized", width=66, help="Items/s of a GPU at full batches, expected."
                ),
                "gpus": text("GPUs", width=112, help="Stages that share a GPU each name it."),
                "latency": number("Latency (ms)", format="localized", width=84, help="Mean: delay, wait and compute."),
                "usd": number(
                    "USD a month", format="localized", step=1, width=86, help="Hardware; 0 where GPUs are idle."
                ),
                "validated": text("Rests on", width=110),
            },
        )
        st.markdown(_whole(pipeline))
        for note in pipeline.notes:
            st.warning(as_markdown(note), icon=":material/warning:")
        st.caption(as_markdown(" ".join([*(f"{bought(one, name)}." for one in pipeline.systems), *_sure(pipeline)])))
        with st.expander("What this rests on", type="compact", key="pipeline_assumptions"):
            st.markdown("\n".join(f"- {as_markdown(one)}" for one in pipeline.assumptions))


def pipeline_table(pipeline: Pipeline, name: Named) -> pd.DataFrame:
    """One row for each stage; numbers to three significant digits."""
    return pd.DataFrame(
        {
            "stage": one.stage,
            "model": one.model,
            "items": rounded(one.items_per_s),
            "rate": rounded(one.rate.value),
            "gpus": f"{one.gpus} x {name(one.gpu)}",
            "latency": rounded(one.latency_ms),
            "usd": known(one.usd_per_month),
            "validated": "your record" if one.basis == "measured" else "estimate, not validated",
        }
        for one in pipeline.stages
    )


def _whole(pipeline: Pipeline) -> str:
    """The whole with the language model in one line of Markdown."""
    money = as_markdown(usd(pipeline.usd_per_month_whole)) if pipeline.usd_per_month_whole is not None else "unknown"
    power = kilowatts(pipeline.power_kw_whole) if pipeline.power_kw_whole is not None else "unknown"
    return (
        f"With the language model: first token after **{ms(pipeline.ttft_ms)}**, whole answer after "
        f"**{ms(pipeline.e2e_ms)}** (median), hardware **{money}** a month, power **{power}**."
    )


def _sure(pipeline: Pipeline) -> list[str]:
    """How sure the stages are, each sentence once."""
    return list(dict.fromkeys(one.how_sure for one in pipeline.stages))
