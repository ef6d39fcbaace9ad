"""What differs between two versions, key by key."""

from collections.abc import Iterator, Mapping
from typing import Any

from sharing.library.records import KeyChange, Project, ScenarioDraft, Version, json_text
from sharing.library.text import printable
from sizing.decision.keys import WHOLE

TEXT_LENGTH = 200
"""Longest value in a history; the version itself has all of it."""

Values = Mapping[str, Any]


def values_of_draft(document: Mapping[str, Any], draft: ScenarioDraft) -> dict[str, Any]:
    """Every value of a version to be, by dotted key: those of the scenario, project, customer and tags."""
    return _values(document, draft.project, tuple(draft.tags))


def values_of_version(version: Version) -> dict[str, Any]:
    """The same of a version that is kept."""
    return _values(version.document, version.project, version.tags)


def changes(before: Values, after: Values) -> tuple[KeyChange, ...]:
    """Keys whose values differ, in the order of the scenario; those that are gone come last."""
    keys = dict.fromkeys([*after, *before])
    return tuple(
        KeyChange(key=key, before=_text(key, before.get(key)), after=_text(key, after.get(key)))
        for key in keys
        if before.get(key) != after.get(key)
    )


def _values(document: Values, project: Project | None, tags: tuple[str, ...]) -> dict[str, Any]:
    filed = {
        "project": project.name if project else None,
        "customer": (project.customer if project else "") or None,
        "tags": list(tags) or None,
    }
    return {key: value for key, value in [*_opened("", document), *filed.items()] if value is not None}


def _opened(prefix: str, document: Values) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in WHOLE:
            yield from _opened(f"{key}.", value)
        elif value not in (None, []):
            yield key, value


def _text(key: str, value: Any) -> str | None:
    from sharing.form.stages_text import stages_text
    from sizing.decision.text import shown  # the engine, which no list of scenarios waits for

    if value is None:
        return None
    written = shown(key, value) if isinstance(value, int | float) else value
    written = stages_text(value) if key == "pipeline" else written
    text = printable(written if isinstance(written, str) else json_text(written))
    return text if len(text) <= TEXT_LENGTH else f"{text[: TEXT_LENGTH - 1]}…"
