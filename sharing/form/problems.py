"""One clear sentence for what is wrong with the form: which field, what it must be, what was entered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from commandline.faults import TEXTS
from commandline.foreign_text import shown
from sharing.form.fields import BY_PATH, LENGTH_KEYS, Field
from sharing.form.numbers import over, show_number
from sizing.base.errors import BrokenRule, RuleName, SizingError

_BOUNDS = {
    "greater_than": ("gt", "must be more than {}"),
    "greater_than_equal": ("ge", "must be at least {}"),
    "less_than": ("lt", "must be less than {}"),
    "less_than_equal": ("le", "must be at most {}"),
}
ONE = {"tokens": "token", "instances": "instance", "documents": "document", "turns": "turn", "years": "year"}
"""Units in the singular, by their plural."""

ENDS = (".", "?", "!")
_LONGEST = 1e15
"""Number from which on its digits are not written out."""

_NO_UNITS = {"1 = random", "a day", "a step", "count", "per system", "ratio", "tokens or %"}
_COUNTED = {"tokens", "people", "instances", "documents", "turns", "years"}
_RULES: dict[RuleName, str] = {
    "cached_part_is_shorter": "The part of the prompt found in the prefix cache must be shorter than the "
    "prompt itself: lower it, or enter a share such as 60 %.",
    "some_hour_has_load": "Load by hour: at least one of the 24 hours must be above 0.",
    "p95_is_not_shorter": "The 95th percentile of a length must not be below its median: raise it or leave it empty.",
}
_AT: dict[RuleName, str] = {"cached_part_is_shorter": "cached", "some_hour_has_load": "profile"}
"""The field that a rule's sentence stands under; that of a length under its 95th percentile."""


@dataclass(frozen=True, kw_only=True)
class FieldFault:
    """What is wrong with one field: as a sentence of its own, and in short beside others.

    ``fields`` are the keys of what is to blame, empty for a rule between several values; ``at`` is the field that the
    sentence stands under. ``empty``: nothing was entered. ``readings``: what ``unclear``, which was typed, may mean.
    """

    sentence: str
    short: str
    fields: frozenset[str] = frozenset()
    at: str = ""
    empty: bool = False
    unclear: str = ""
    readings: tuple[str, ...] = ()


class UnreadableInput(ValueError):
    """What was typed cannot be read; the message is the sentence to show, ``short`` the same beside others.

    ``instead`` are values of the fields to blame with which the rest of the form can be read, the field that the
    sentence stands under first. ``empty``, ``unclear`` and ``readings`` as of :class:`FieldFault`.
    """

    def __init__(
        self,
        sentence: str,
        *,
        short: str = "",
        instead: Mapping[str, Any] | None = None,
        empty: bool = False,
        unclear: str = "",
        readings: tuple[str, ...] = (),
    ) -> None:
        super().__init__(sentence)
        self.instead = dict(instead or {})
        self.fault = FieldFault(
            sentence=sentence,
            short=short or sentence,
            fields=frozenset(self.instead),
            at=next(iter(self.instead), ""),
            empty=empty,
            unclear=unclear,
            readings=readings,
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """The sentence, as errors of the engine have it."""
        return (str(self),)


def no_number(field: Field, text: str) -> UnreadableInput:
    """What to say when a field holds text, or nothing, where a number is needed."""
    hint = f"enter {_what(field)}, for example {field.example}" if field.example else f"enter {_what(field)}"
    instead = {field.key: "1"}
    if not text.strip():
        short = f"{field.label} is empty"
        return UnreadableInput(f"{short}: {hint}.", short=short, instead=instead, empty=True)
    short = f"{field.label}: “{shown(text)}” is not a number"
    return UnreadableInput(f"{short}; {hint}.", short=short, instead=instead)


def unclear_number(field: Field, text: str, readings: tuple[str, ...]) -> UnreadableInput:
    """What to ask when a number may mean another one where point and comma have changed places."""
    short = f"{field.label}: did you mean {' or '.join(readings)}?"
    return UnreadableInput(
        which_number(field.label, text, readings),
        short=short,
        instead={field.key: "1"},
        unclear=text.strip(),
        readings=readings,
    )


def which_number(name: str, text: str, readings: tuple[str, ...]) -> str:
    """The question which of ``readings`` was meant."""
    why = "can be read as either" if len(readings) > 1 else "is not taken: a comma separates thousands here"
    return f"{name}: did you mean {' or '.join(readings)}? “{shown(text)}” {why}."


def sentence(error: Exception) -> str:
    """The first thing that ``error`` says, in the words of the form."""
    if isinstance(error, ValidationError):
        return faults_of(error)[0].sentence
    if isinstance(error, UnreadableInput | SizingError):
        return error.problems[0]
    raise error


def in_short(faults: Sequence[FieldFault]) -> str:
    """The sentence of a single fault, else a short one of each; rules between several values only where each of them
    can be read by itself."""
    named = [fault for fault in faults if fault.fields] or list(faults[:1])
    return named[0].sentence if len(named) == 1 else " ".join(_ended(fault.short) for fault in named)


def _ended(clause: str) -> str:
    """A clause as a sentence; one that ends by itself, a question for example, stays as it is."""
    return clause if clause.endswith(ENDS) else f"{clause}."


def faults_of(error: ValidationError) -> list[FieldFault]:
    """What the scenario says of its values, one fault per field."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    given: list[Any] = error.errors(include_url=False)
    for one in given:
        field = _field_of(one["loc"])
        by_name.setdefault(field.key if field else _dotted(one["loc"]), []).append(one)
    # A value that may have two shapes is complained about in both: what counts is the shape that was given.
    return [
        _fault(next((f for f in faults if not f["type"].endswith("_type")), faults[0])) for faults in by_name.values()
    ]


def _dotted(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc)


def _fault(fault: Mapping[str, Any]) -> FieldFault:
    raised = fault.get("ctx", {}).get("error")
    field = _field_of(fault["loc"])
    at = field.key if field else ""
    if isinstance(raised, BrokenRule):
        return FieldFault(sentence=_RULES[raised.rule], short=_RULES[raised.rule], at=_AT.get(raised.rule, f"{at}95"))
    name = field.label if field else _dotted(fault["loc"])
    context, fields = fault.get("ctx", {}), frozenset({field.key if field else name})
    if fault["type"] in _BOUNDS or fault["type"].startswith("int_"):
        must_be, entered = f"{name} {_bound(fault, field)}", f"{_typed(fault['input'], field)} was entered"
        return FieldFault(sentence=f"{must_be}; {entered}.", short=f"{must_be} ({entered})", fields=fields, at=at)
    text = TEXTS.get(fault["type"], "").format(**context)
    short = f"{name} {text}" if text else f"{name}: {message_of(fault)}"
    return FieldFault(sentence=f"{short}.", short=short, fields=fields, at=at)


def _bound(fault: Mapping[str, Any], field: Field | None) -> str:
    """What the number has to be, with its unit."""
    if fault["type"] not in _BOUNDS:
        return "must be a whole number"
    bound, words = _BOUNDS[fault["type"]]
    number = _typed(fault["ctx"][bound], field)
    unit = _unit(field) if field else ""
    return f"{words.format(number)} {ONE.get(unit, unit) if number == '1' else unit}".rstrip()


def message_of(fault: Mapping[str, Any]) -> str:
    """What a pydantic fault says: in our words where a validator of ours raised it, else in pydantic's."""
    return str(fault.get("ctx", {}).get("error") or fault["msg"])


def _field_of(loc: tuple[int | str, ...]) -> Field | None:
    """The field whose scenario key is the longest start of ``loc``, leaving out list positions and type names."""
    names = [str(part) for part in loc if isinstance(part, str) and not part.startswith("[")]
    for end in range(len(names), 0, -1):
        if field := BY_PATH.get(".".join(names[:end])):
            return field
    return None


def _typed(value: object, field: Field | None) -> str:
    """A number as the person typed it: with separators, in the unit of the field."""
    if not isinstance(value, int | float):
        return f"“{shown(value)}”"
    number = over(value, field.scale) if field else value
    if abs(number) >= _LONGEST:
        return f"{number:.3g}"
    return f"{number:,.0f}" if number == int(number) else show_number(number)


def _unit(field: Field) -> str:
    """The unit in a sentence; lengths are judged in tokens, and what explains a number is none."""
    if field.key in LENGTH_KEYS:
        return "tokens"
    return "" if field.unit in _NO_UNITS else field.unit


def _what(field: Field) -> str:
    unit = _unit(field)
    return f"a number of {unit}" if unit in _COUNTED else f"a number in {unit}" if unit else "a number"
