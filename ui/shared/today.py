"""What would differ if the stored answer were computed today: on a click, beside it, with the same money shown."""

from __future__ import annotations

import logging

import streamlit as st

from sharing.errors import SharingError
from sharing.links import Holder
from sharing.links.freezing import Compared, Today, today
from sharing.links.records import Shared
from sharing.report.content import Report
from sizing.base.errors import SizingError
from ui import state
from ui.format import as_markdown, counted

_LOG = logging.getLogger(__name__)


def draw_today(holder: Holder, shared: Shared) -> None:
    """The button, and below it both answers."""
    help_text = "Computes the same inputs with today's engine and data. What was stored stays as it is."
    if not st.button("What would differ if recomputed today", key="today", icon=":material/update:", help=help_text):
        return
    try:
        with st.spinner("Computing today's answer"):
            version = holder.version(shared.link)
            now = today(shared.report, version, planner=lambda scenario: state.plan_of(scenario.model_dump_json()))
    except (SharingError, SizingError) as error:
        _LOG.error("A frozen link could not be computed again: %s", error)
        st.warning("Today's version cannot compute this scenario.", icon=":material/update_disabled:")
        return
    _draw(shared.report, now)


def _draw(report: Report, now: Today) -> None:
    differing = now.differing
    if differing or now.answer != report.answer:
        st.warning(f"Recomputed today, {counted(differing, 'figure')} would differ.", icon=":material/difference:")
    else:
        st.success("Recomputed today, nothing would differ.", icon=":material/check:")
    st.markdown(as_markdown(f"Today's answer: {now.answer}"))
    st.dataframe(
        {
            "Figure": [one.label for one in now.figures],
            "Stored": [one.stored for one in now.figures],
            "Today": [one.today for one in now.figures],
            "Differs": [_mark(one) for one in now.figures],
        },
        hide_index=True,
        key="today_rows",
        alt="Stored figures and today's",
        placeholder="–",
    )
    st.caption(as_markdown(f"Today: engine {now.engine_version}, data {now.data_version}."))


def _mark(one: Compared) -> str:
    return "yes" if one.stored != one.today else ""
