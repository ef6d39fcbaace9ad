"""What flips the answer: the nearest values of each input at which something else would be ordered."""

from collections.abc import Iterator, Sequence

from sharing.report.content import Block, Cell, Column, Paragraph, Table
from sharing.report.names import titled
from sharing.report.ordered import money_columns, ordered
from sharing.report.subject import ReportSubject
from sizing.base.format import count
from sizing.decision.flips import Flip, Searched, flips
from sizing.decision.outcome import Answers, Outcome
from sizing.decision.text import name_of, shown
from sizing.decision.tornado import PRICES

MOST_LOOKS = 16
"""Values beyond the ends of the ranges that a report looks at. Chosen: because a report takes 5 s at most, and as many
plans are made for the rest of the chapter."""

NEAR = 1.06
"""Ratio to which a flip is narrowed. Chosen: because two looks at the end of a range reach it."""

MEANS = (
    "The nearest values found at which another GPU type, weight format or number of systems would be ordered, "
    "everything else as it is. The answer changes between “Unchanged to” and “Flips at”."
)


def flips_found(subject: ReportSubject, answers: Answers) -> Iterator[Block]:
    """The table, or the sentence that nothing was found, with what was searched; inputs of money where it is shown."""
    searched = flips(subject.sized.scenario, answers, most=MOST_LOOKS, near=NEAR)
    turning = [one for one in searched.nearest if _told(one, subject)]
    unmoved = [one for one in searched.unmoved if _told(one, subject)]
    if not turning:
        yield Paragraph(text=f"No input alone was found to flip the answer. {_not_found(unmoved)}".strip())
        return
    columns = (
        *(Column(label=label) for label in ("Input", "Now", "Flips at", "What would be ordered then")),
        Column(label="Unchanged to", detail=True),
        *money_columns(subject, ("A month then",)),
    )
    rows = tuple(_row(one, subject) for one in turning)
    note = f"{MEANS} {_not_found(unmoved)}".strip()
    yield Table(title="What flips the answer", columns=columns, rows=rows, note=note)


def _told(one: Flip | Searched, subject: ReportSubject) -> bool:
    return subject.shows_money or one.key.partition(".")[0] not in PRICES


def _row(flip: Flip, subject: ReportSubject) -> tuple[Cell, ...]:
    now, unchanged, at = (shown(flip.key, value) for value in (flip.value, flip.unchanged, flip.at))
    after = subject.money.converted(flip.after)
    amounts = (after.usd_per_month,) if subject.shows_money else ()
    return titled(flip.key), now, at, _then(after, subject), unchanged, *amounts


def _then(outcome: Outcome, subject: ReportSubject) -> str:
    named = "system" if outcome.systems == 1 else "systems"
    systems = f" in {count(outcome.systems)} {named}" if outcome.systems else ""
    return f"{ordered(outcome, subject)}{systems}"


def _not_found(unmoved: Sequence[Searched]) -> str:
    """How far each input was moved without a flip, and whether it was moved as far as it could be."""
    if not unmoved:
        return ""
    keys = dict.fromkeys(one.key for one in unmoved)
    spans = [_span(key, [one for one in unmoved if one.key == key]) for key in keys]
    farther = "" if all(one.all for one in unmoved) else " Values farther away were not searched."
    return f"None was found for: {'; '.join(spans)}.{farther}"


def _span(key: str, sides: Sequence[Searched]) -> str:
    if len(sides) == 2:
        return f"{name_of(key)} from {shown(key, sides[0].to)} to {shown(key, sides[1].to)}"
    (one,) = sides
    return f"{name_of(key)} {'down' if one.to < one.value else 'up'} to {shown(key, one.to)}"
