"""What the prefix caches of the plan hold of sessions, in a tile of the Size page."""

import streamlit as st

from sizing.base.format import large, ms, percent
from sizing.base.latency_and_cost import Latency
from sizing.base.reuse_result import Reuse
from ui.format import as_markdown, bullets
from ui.shell import draw_figure

_NARROWEST = 130
"""Width in pixels below which figures wrap: that of the key figures."""


def draw_reuse(reuse: Reuse | None) -> None:
    """Hit share, working set beside KV cache, TTFT of first and later turns, and on request what would save."""
    if reuse is None:
        return
    with st.container(border=True, gap="small", key="reuse"):
        turns = "Sessions" if reuse.gap_s is not None else "Prompts that come again"
        st.markdown(f":material/forum: **{turns}**")
        grid = st.grid(4, min_column_width=_NARROWEST, gap="small")
        for label, value, note, help_text in _figures(reuse):
            with grid.cell():
                draw_figure(label, value, help=help_text)
                st.caption(as_markdown(note))
        st.markdown(as_markdown(" ".join(saving.says for saving in reuse.savings) or reuse.says[0]))
        with st.popover("Details", type="tertiary", key="reuse_details", help="What this rests on"):
            st.markdown(bullets(reuse.says))


def _figures(reuse: Reuse) -> list[tuple[str, str, str, str]]:
    """Label, value, note and help of each figure."""
    first, later = ("first turns", "later turns") if reuse.gap_s is not None else ("not found", "found")
    figures = [
        (
            "Found in prefix cache",
            percent(reuse.hit_share),
            f"{percent(reuse.hit_share_unlimited)} at best",
            "Share of all prompt tokens that need not be computed, by the plan's own KV cache, eviction and routing.",
        ),
        (
            "Working set",
            f"{large(reuse.working_set_tokens)}",
            f"tokens; {large(reuse.kv_idle_tokens)} fit",
            "KV cache of everything that comes again, and how much of it fits beside running requests.",
        ),
    ]
    for name, latency in ((first, reuse.ttft_first_turn_ms), (later, reuse.ttft_later_turns_ms)):
        if latency is not None:
            figures.append(
                (f"TTFT, {name}", ms(latency.at_percentile), _median(latency), "Simulated, at the limit's p.")
            )
    return figures


def _median(latency: Latency) -> str:
    return f"p50 {ms(latency.at(50))}"
