"""What another scenario would lead to, in the words of a table."""

from collections.abc import Sequence

from sharing.report.content import Column
from sharing.report.money import amounts
from sharing.report.names import gpu_name, precision_name
from sharing.report.subject import ReportSubject
from sizing.base.format import count
from sizing.decision.outcome import Outcome


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
