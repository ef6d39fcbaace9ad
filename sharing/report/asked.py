"""What was asked, in the words of a table: lengths and limits."""

from __future__ import annotations

from sizing.base.format import count, ms
from sizing.scenario.schema import Limits
from sizing.scenario.sessions import DERIVED
from sizing.scenario.traffic import Length, LengthSpread, LengthTrace


def length_text(length: Length) -> str:
    """ "1,155 tokens on average", of a spread with its tail."""
    if isinstance(length, LengthSpread):
        return f"{count(length.p50)} tokens in the median, {count(length.p95)} at the 95th percentile"
    if isinstance(length, LengthTrace):
        what = "turn by turn" if length.trace == DERIVED else "as in a trace"
        return f"{what}: {count(length.p50)} tokens in the median, {count(length.p95)} at the 95th percentile"
    return f"{count(length)} tokens on average"


def limits_text(limits: Limits, mode: str) -> str:
    """ "TTFT 2 s, ITL 100 ms at p95", "no limit"."""
    if mode == "offline":
        return "no limit"
    each = (("TTFT", limits.ttft_ms), ("ITL", limits.itl_ms), ("E2E", limits.e2e_ms))
    named = [f"{name} {ms(limit)}" for name, limit in each if limit is not None]
    return f"{', '.join(named)} at p{limits.percentile:g}" if named else "no limit"
