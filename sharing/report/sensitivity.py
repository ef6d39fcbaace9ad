"""What moves the answer: each input alone between the ends of its range, what flips it, each promise relaxed."""

from collections.abc import Iterator, Sequence

from sharing.report.asked import money_columns, ordered
from sharing.report.content import Block, Cell, Chart, ChartSeries, Column, Paragraph, Section, Table
from sharing.report.cost import DISCOUNT
from sharing.report.names import titled
from sharing.report.subject import ReportSubject
from sizing.base.format import count
from sizing.decision.flips import Flip, Searched, flips
from sizing.decision.outcome import Answers, Outcome, Progress
from sizing.decision.promises import Promise, cheaper_with_more_gpus, promises, saved
from sizing.decision.text import GPU_CHANGE, MORE_FOR_LESS, gpu_change, name_of, shown
from sizing.decision.tornado import PRICES, Bar, Tornado, counted, in_gpus, swing, tornado
from sizing.mixed.text import of_one_fleet

DRAWN = 12
"""Inputs that the chart holds: those that move the answer most."""

LISTED = 8
"""Relaxed promises that the table holds."""

MOVED_ALONE = (
    "Each input is moved alone, everything else as it is: how many more or fewer of the same GPU it takes, with the "
    "same engine, formats and layout. What flips the answer, and what a relaxed promise saves, is planned anew on any "
    "hardware that the scenario allows."
)
"""What the figures are of; as on Cost."""

MOST_LOOKS = 16
"""Values beyond the ends of the ranges that a report looks at. Chosen: because a report takes 5 s at most, and as many
plans are made for the rest of the chapter."""

NEAR = 1.06
"""Ratio to which a flip is narrowed. Chosen: because two looks at the end of a range reach it."""

MEANS = (
    "The nearest values found at which another GPU type, weight format or number of systems would be ordered, "
    "everything else as it is. The answer changes between “Unchanged to” and “Flips at”."
)


def sensitivity(subject: ReportSubject, answers: Answers, progress: Progress | None = None) -> Section | None:
    """The chapter; None where nothing is deployed. Plans every input at both ends of its range."""
    if subject.plan.deployment is None:
        return None
    answers.knows(subject.sized)
    moved = tornado(subject.sized.scenario, answers, progress, keep_hardware=True)
    moved = subject.money.converted(moved) if subject.shows_money else in_gpus(moved)
    moved = moved.model_copy(update={"bars": tuple(bar for bar in moved.bars if not bar.key.endswith(DISCOUNT))})
    relaxed = tuple(subject.money.converted(one) for one in promises(subject.sized.scenario, answers))
    blocks: list[Block] = [
        Paragraph(text=f"{MOVED_ALONE} {of_one_fleet(subject.scenario)}".strip()),
        *_chart(subject, moved),
        *flips_found(subject, answers),
        _table(subject, moved),
    ]
    if relaxed:
        blocks.append(_promises(subject, relaxed))
    return Section(key="sensitivity", title="What moves the answer", blocks=tuple(blocks))


def _chart(subject: ReportSubject, moved: Tornado) -> Iterator[Chart]:
    bars = [bar for bar in moved.bars if swing(bar, moved.base) > 0][:DRAWN]
    base = counted(moved.base, moved.base)
    if not bars or base is None:
        return
    series = tuple(
        ChartSeries(name=name, values=tuple(counted(getattr(bar, end), moved.base) for bar in bars))
        for name, end in (("At the low end", "at_low"), ("At the high end", "at_high"))
    )
    yield Chart(
        title="Inputs by how far they move the answer",
        draws="tornado",
        x_label="",
        y_label=f"{subject.money.code} a month" if moved.in_money else "GPUs",
        x=tuple(titled(bar.key) for bar in bars),
        series=series,
        base=base,
        note="Where an end has no bar, the answer stays as it is or nothing serves it: see the table.",
    )


def _table(subject: ReportSubject, moved: Tornado) -> Table:
    """The inputs that move the answer, with what would be ordered at both ends of their range."""
    columns = (
        *(Column(label=label) for label in ("Input", "Now", "Range", "At the low end", "At the high end")),
        *money_columns(subject, ("A month, low end", "A month, high end")),
    )
    still = [bar for bar in moved.bars if _moves_nothing(bar, moved.base)]
    rows = tuple(_row(subject, bar) for bar in moved.bars if bar not in still)
    names = ", ".join(name_of(bar.key) for bar in still)
    note = f"Within 20 % to both sides or what sources give. Nothing changes with: {names}." if still else ""
    return Table(title="What would be ordered at the ends of the ranges", columns=columns, rows=rows, note=note)


def _moves_nothing(bar: Bar, base: Outcome) -> bool:
    """Whether neither order nor cost changes between both ends."""
    ends = [end for end in (bar.at_low, bar.at_high) if end is not None]
    return swing(bar, base) == 0 and all(_order(end) == _order(base) for end in ends)


def _order(outcome: Outcome) -> tuple[object, ...]:
    return *outcome.choice, outcome.gpus


def _row(subject: ReportSubject, bar: Bar) -> tuple[Cell, ...]:
    ends = (bar.at_low, bar.at_high)
    amounts: tuple[Cell, ...] = ()
    if subject.shows_money:
        amounts = tuple(None if end is None else end.usd_per_month for end in ends)
    span = f"{shown(bar.key, bar.low)} to {shown(bar.key, bar.high)}"
    orders = (ordered(end, subject) for end in ends)
    return titled(bar.key), shown(bar.key, bar.value), span, *orders, *amounts


def _promises(subject: ReportSubject, relaxed: Sequence[Promise]) -> Block:
    saving = sorted(
        (one for one in relaxed if saved(one, in_money=subject.shows_money) > 0),
        key=lambda one: -saved(one, in_money=subject.shows_money),
    )
    if not saving:
        return Paragraph(text="No promise of the scenario, relaxed alone, would save hardware.")
    columns = (
        *(Column(label=label) for label in ("Promise", "Now", "Relaxed to", "Then")),
        Column(label=GPU_CHANGE),
        *money_columns(subject, ("Saved a month",)),
    )
    listed = saving[:LISTED]
    why = MORE_FOR_LESS if subject.shows_money and cheaper_with_more_gpus(listed) else ""
    return Table(
        title="What each promise costs",
        columns=columns,
        rows=tuple(_promise(subject, one) for one in listed),
        note=f"Each promise relaxed in turn, everything else as it is; what saves most first. {why}".strip(),
    )


def _promise(subject: ReportSubject, one: Promise) -> tuple[Cell, ...]:
    to = "not promised" if one.relaxed is None else shown(one.key, one.relaxed)
    amount: tuple[Cell, ...] = (one.usd_saved,) if subject.shows_money else ()
    then = ordered(one.outcome, subject)
    return titled(one.key), shown(one.key, one.value), to, then, gpu_change(one.gpus_saved), *amount


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
    rows = tuple(_flip_row(one, subject) for one in turning)
    note = f"{MEANS} {_not_found(unmoved)}".strip()
    yield Table(title="What flips the answer", columns=columns, rows=rows, note=note)


def _told(one: Flip | Searched, subject: ReportSubject) -> bool:
    return subject.shows_money or one.key.partition(".")[0] not in PRICES


def _flip_row(flip: Flip, subject: ReportSubject) -> tuple[Cell, ...]:
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
