"""What of a scenario the form, or a link, does not hold."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from sharing.form.problems import UnreadableInput
from sharing.form.read import to_scenario
from sizing.decision.keys import values_of
from sizing.scenario.schema import Scenario


def keys_not_held(scenario: Scenario, values: Mapping[str, Any], **files: Any) -> tuple[str, ...]:
    """The keys whose values the fields and files do not give back; ``files`` as for ``to_scenario``."""
    stated = values_of(scenario)
    try:
        held = values_of(Scenario.model_validate(to_scenario(values, **files)))
    except (UnreadableInput, ValidationError):
        return tuple(stated)
    return tuple(key for key in dict.fromkeys([*stated, *held]) if stated.get(key) != held.get(key))
