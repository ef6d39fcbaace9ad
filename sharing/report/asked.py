"""What was asked, in the words of a table: lengths and limits."""

import math

from sizing.base.choices import Mode
from sizing.base.format import count, ms
from sizing.base.units import MS_PER_S
from sizing.question.limits import LatencyLimits
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


def limits_text(limits: Limits, mode: Mode) -> str:
    """ "TTFT 2 s, ITL 100 ms at p95", of those limits that the mode of use has; "no limit"."""
    applied = LatencyLimits.of(limits, mode)
    each = (("TTFT", applied.ttft_s), ("ITL", applied.itl_s), ("E2E", applied.e2e_s))
    named = [f"{name} {ms(limit * MS_PER_S)}" for name, limit in each if math.isfinite(limit)]
    return f"{', '.join(named)} at p{applied.percentile:g}" if named else "no limit"
