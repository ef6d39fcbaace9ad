"""What was asked, and what another scenario would lead to, in the words of a table."""

import math
from collections.abc import Sequence

from sharing.report.content import Column
from sharing.report.money import amounts
from sharing.report.names import gpu_name, precision_name
from sharing.report.subject import ReportSubject
from sizing.base.choices import Mode
from sizing.base.format import count, ms
from sizing.base.units import MS_PER_S
from sizing.decision.outcome import Outcome
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


def ordered(outcome: Outcome | None, subject: ReportSubject) -> str:
    """What would be ordered, without its price."""
    if outcome is None:
        return "not possible"
    if not outcome.feasible:
        return "nothing serves it within the limits"
    return f"{count(outcome.gpus)} x {gpu_name(outcome.gpu, subject.question)}, {precision_name(outcome.precision)}"


def money_columns(subject: ReportSubject, labels: Sequence[str]) -> tuple[Column, ...]:
    """Columns of amounts; none where no money is shown."""
    return tuple(map(amounts, labels)) if subject.shows_money else ()
