"""Levers and NIM as text for a terminal."""

from collections.abc import Iterator

from sizing.base.format import count, usd
from sizing.decision.added_up import nim_added_up
from sizing.decision.lever_text import LEVERS, STANDINGS, kept_accuracy, tried
from sizing.decision.levers import LeverRow
from sizing.decision.nim_text import TOPICS, nim_sentences
from sizing.decision.optimised import Optimised
from sizing.decision.outcome import Outcome
from sizing.mixed.text import OF_ONE_FLEET


def as_text(one: Optimised) -> str:
    """A paragraph for each lever, then NIM beside open source."""
    lines = [f"The plan: {_bought(one.plan)}", *([OF_ONE_FLEET] if one.mix_left_out else []), ""]
    for row in one.levers:
        lines += [*_lever(row), ""]
    lines += ["NIM beside open source", *(f"  {sentence}" for sentence in nim_sentences(nim_added_up(one.nim)))]
    for fact in one.nim.facts:
        lines += [
            f"  {TOPICS[fact.topic]}: NIM {fact.nim}; open source {fact.open_source} ({fact.source}, {fact.date})"
        ]
    return "\n".join(lines)


def _bought(outcome: Outcome) -> str:
    if not outcome.feasible:
        return "nothing serves it within the limits"
    cost = "cost unknown" if outcome.usd_per_month is None else f"{usd(outcome.usd_per_month)} a month, all costs"
    return f"{count(outcome.gpus or 0)} x {outcome.gpu_name}, {outcome.engine}, {outcome.precision}; {cost}"


def _lever(row: LeverRow) -> Iterator[str]:
    yield f"{LEVERS[row.name]} ({STANDINGS[row.standing]}): {tried(row)}"
    if row.outcome is not None:
        yield f"  {_bought(row.outcome)}"
    if accuracy := kept_accuracy(row):
        yield f"  Accuracy: {accuracy}"
    if row.standing != "not_applicable":
        yield f"  {row.basis} ({row.source}, {row.date})"
