"""What is wrong with the form, every field of it: a link may bring several that cannot be used."""

from typing import Any

from pydantic import ValidationError

from sharing.form.problems import FieldFault, UnreadableInput, faults_of
from sharing.form.read import to_scenario
from sharing.form.typed import Values
from sizing.scenario.schema import Scenario


def faults(values: Values, **files: Any) -> tuple[FieldFault, ...]:
    """Every field that cannot be used; nothing where all can. ``files`` as for ``to_scenario``.

    A field that cannot be read is replaced, so that those behind it are read too.
    """
    known: list[FieldFault] = []
    blamed: set[str] = set()
    while True:
        try:
            Scenario.model_validate(to_scenario(values, **files))
        except UnreadableInput as bad:
            if not bad.fault.fields <= blamed:
                known.append(bad.fault)
            blamed |= bad.fault.fields
            if all(values[key] == value for key, value in bad.instead.items()):
                break
            values = {**values, **bad.instead}
            continue
        except ValidationError as error:
            known += [fault for fault in faults_of(error) if not fault.fields & blamed]
        break
    return tuple(known)
