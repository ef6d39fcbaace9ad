"""What was learned of running sequences, in the words of the page and of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reality.step_times import milliseconds

if TYPE_CHECKING:
    from reality.diagnosis.result import Recalibration


def added_in_words(one: Recalibration) -> str:
    """ "0.42 ms more a step, 80 % 0.36 to 0.48 ms"; where the windows cannot tell it, that."""
    value = f"{milliseconds(one.sequence_ms)} ms more a step"
    if one.sequence_low_ms is not None and one.sequence_high_ms is not None:
        value += f", 80 % {milliseconds(one.sequence_low_ms)} to {milliseconds(one.sequence_high_ms)} ms"
    return value if one.sequence_identifiable else f"{value}, not told by these windows"
