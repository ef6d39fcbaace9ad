"""A number that a page asks for outside the form of a scenario: what it may be, and what was typed for it."""

from dataclasses import dataclass

from commandline.foreign_text import shown
from sharing.form.numbers import AmbiguousNumber, NotANumber, parse_number
from sharing.form.problems import UnreadableInput, which_number
from sizing.base.format import stated


@dataclass(frozen=True, kw_only=True)
class AskedNumber:
    """A number from ``low``, or above it (``beyond_low``), to ``high``; ``name`` begins the sentence of a fault."""

    name: str
    low: float = 0.0
    high: float
    beyond_low: bool = False
    whole: bool = False
    example: str

    def read(self, typed: str) -> float:
        """The number that was typed. Raises UnreadableInput with one sentence."""
        text = shown(typed)
        try:
            number = parse_number(typed)
        except AmbiguousNumber as unclear:
            raise UnreadableInput(which_number(self.name, typed, unclear.readings)) from None
        except NotANumber:
            hint = f"enter a number, for example {self.example}"
            fault = f"{self.name}: “{text}” is not a number; {hint}." if text else f"{self.name} is empty: {hint}."
            raise UnreadableInput(fault) from None
        if self.whole and number != int(number):
            raise UnreadableInput(f"{self.name} must be a whole number; {text} was entered.")
        if not self.low <= number <= self.high or (self.beyond_low and number == self.low):
            least = f"{'more than' if self.beyond_low else 'at least'} {stated(self.low)}"
            raise UnreadableInput(f"{self.name} must be {least} and at most {stated(self.high)}; {text} was entered.")
        return number
