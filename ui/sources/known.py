"""Which sources there are: files in a folder, the demo, and what was typed into this session.

A source is told apart by a digest of everything in it, secrets included: who does not know the token of another viewer
never sees what was read with it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import streamlit as st
from pydantic import SecretStr

from collectors.demo.feed import demo_source
from collectors.errors import InvalidSource
from collectors.prometheus.promql import LabelValue
from collectors.source import Source, load_source, source_from
from sharing.access import Right
from sharing.document import FILES
from sharing.settings import SETTINGS
from ui import access

FOLDER_SETTING = "LIVE_SOURCES"
"""Environment variable with the folder of source files; ``sources`` under ``[live]`` in the secrets does the same."""

TYPED_SETTING = "LIVE_TYPED_SOURCES"
"""Environment variable: "off" keeps everybody from typing addresses that this server would read, "viewers" lets those
who may only look do so as well."""

MOST_TYPED, MOST_TARGETS = 4, 32
"""Sources that a session may type, and metrics pages of one of them. Chosen: those of a deployment, and more."""

DEMO_NAME = "Demo deployment"
FOLDER = SETTINGS / "sources"
_TYPED, _OVERRIDES = "typed_sources", "mapping_of_sources"


class Origin(StrEnum):
    """Where a source was written down."""

    FILE = "file"
    DEMO = "demo"
    TYPED = "typed"


@dataclass(frozen=True, kw_only=True)
class KnownSource:
    """A source with the name that stands in the picker and in links, and where it comes from."""

    name: str
    origin: Origin
    source: Source
    file: str = ""
    veiled: bool = False

    @cached_property
    def key(self) -> str:
        """The same for everything that is read alike, and for nothing else."""
        return _digest([self.origin, self.veiled, _plain(self.source), str(self.source.folder)])

    @cached_property
    def connection_key(self) -> str:
        """The same for all selections of one server. What a scrape keeps depends on the mapping, so that counts too."""
        source = self.source
        mapping = source.metrics if source.scrape and self.origin is not Origin.DEMO else {}
        return _digest(
            [
                self.origin,
                self.veiled,
                _plain(source.prometheus),
                _plain(source.scrape),
                str(source.folder),
                {name: _plain(candidate) for name, candidate in mapping.items()},
            ]
        )

    def within(self, labels: Mapping[str, LabelValue]) -> KnownSource:
        """Only the series of the source with these labels."""
        return replace(self, source=self.source.model_copy(update={"selector": {**self.source.selector, **labels}}))


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A source file that cannot be used, with one sentence per problem."""

    file: str
    problems: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Every source that can be picked, in order, and the files that cannot be used."""

    sources: tuple[KnownSource, ...]
    broken: tuple[Broken, ...]

    def named(self, name: str | None) -> KnownSource | None:
        """The source of that name."""
        return next((known for known in self.sources if known.name == name), None)


def listing() -> Listing:
    """All sources of this session: files first, then what was typed, the demo last. Files are read anew on change."""
    files, broken = _files()
    # What somebody typed before a role was taken away is theirs no longer.
    own = st.session_state.get(_TYPED, ()) if may_type() else ()
    veiled = bool(own) and not access.is_owners_machine()
    typed = [KnownSource(name=raw.name, origin=Origin.TYPED, source=raw, veiled=veiled) for raw in own]
    demo = KnownSource(name=DEMO_NAME, origin=Origin.DEMO, source=demo_source())
    told_apart = _named_apart([*files, *typed, demo])
    edited = st.session_state.get(_OVERRIDES, {})
    sources = [_with_mapping(known, edited[known.name]) if known.name in edited else known for known in told_apart]
    return Listing(sources=tuple(sources), broken=tuple(broken))


def _with_mapping(known: KnownSource, mapping: Mapping[str, Any]) -> KnownSource:
    """A source whose quantities are read by the expressions of this session instead; see :func:`may_write`."""
    if not may_write():
        mapping = {quantity: one for quantity, one in mapping.items() if one.kind not in FREE_KINDS}
    return replace(known, source=known.source.model_copy(update={"metrics": {**known.source.metrics, **mapping}}))


def mapping_of(name: str) -> dict[str, Any]:
    """The expressions that this session reads a source with, by quantity."""
    return dict(st.session_state.get(_OVERRIDES, {}).get(name, {}))


def set_mapping(name: str, mapping: Mapping[str, Any]) -> None:
    """Read a source by other expressions in this session; none restores those of the source."""
    edited = dict(st.session_state.get(_OVERRIDES, {}))
    edited.pop(name, None)
    st.session_state[_OVERRIDES] = edited | ({name: dict(mapping)} if mapping else {})


FREE_KINDS = ("expr", "mean")
"""Ways to read a quantity that are PromQL: they can ask for anything, whatever a source selects."""


def may_type() -> bool:
    """Whether whoever uses this session may give addresses of their own."""
    who = _setting(TYPED_SETTING, "typed_sources").lower()
    if who in ("off", "false", "0", "no"):
        return False
    return access.allowed(Right.READ if who == "viewers" else Right.CONNECT)


def may_write() -> bool:
    """Whether whoever uses this session may read a source by PromQL of their own, which no selector holds."""
    return access.allowed(Right.CONNECT)


def add_typed(raw: Mapping[str, Any]) -> str:
    """Keep a source for this session; returns its name in the picker. Raises InvalidSource."""
    if not may_type():
        raise InvalidSource(["Your role may not read addresses of its own."])
    source = source_from({"schema_version": 1, **raw})
    kept = [one for one in st.session_state.get(_TYPED, ()) if one.name != source.name]
    if len(kept) >= MOST_TYPED:
        raise InvalidSource([f"A session reads {MOST_TYPED} addresses of its own at most: forget one of them first."])
    if source.scrape is not None and len(source.scrape.targets) > MOST_TARGETS:
        raise InvalidSource([f"{MOST_TARGETS} metrics pages at most: more are for a file of the sources folder."])
    st.session_state[_TYPED] = (*kept, source)
    place = next(known for known in reversed(listing().sources) if known.origin is Origin.TYPED)
    return place.name


def forget_typed(known: KnownSource) -> None:
    """Take a typed source out of this session."""
    kept = tuple(one for one in st.session_state.get(_TYPED, ()) if one.name != known.source.name)
    st.session_state[_TYPED] = kept


def _files() -> tuple[list[KnownSource], list[Broken]]:
    """The source files of the folder. One that cannot be read takes none of the others with it."""
    named = _setting(FOLDER_SETTING, "sources")
    folder = Path(named) if named else FOLDER
    if not folder.is_dir():
        missing = Broken(file=FOLDER_SETTING, problems=(f"{FOLDER_SETTING} names {named}, which is not a folder.",))
        return [], [missing] if named else []
    usable, broken = [], []
    for path in sorted(p for p in folder.iterdir() if p.suffix in FILES and p.is_file()):
        stat = path.stat()
        read = _read(path, stat.st_mtime_ns, stat.st_size)
        if isinstance(read, Source):
            usable.append(KnownSource(name=read.name, origin=Origin.FILE, source=read, file=path.name))
        else:
            broken.append(Broken(file=path.name, problems=read))
    return usable, broken


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int, size: int) -> Source | tuple[str, ...]:
    """A source file, or what is wrong with it. Change time and size are there to read a changed file anew."""
    try:
        return load_source(path)
    except InvalidSource as error:
        return tuple(problem.replace(f"{path.parent}{os.sep}", "") for problem in error.problems)


def _named_apart(sources: list[KnownSource]) -> list[KnownSource]:
    """No two of the same name: the later ones get their file, or a number, behind it."""
    seen: Counter[str] = Counter()
    renamed = []
    for known in sources:
        seen[known.name] += 1
        if seen[known.name] > 1:
            known = replace(known, name=f"{known.name} ({known.file or seen[known.name]})")
        renamed.append(known)
    return renamed


def _setting(variable: str, secret: str) -> str:
    """A setting from the environment, else from ``[live]`` in Streamlit's secrets; "" when neither has it."""
    if variable in os.environ:
        return os.environ[variable].strip()
    if not st.secrets.load_if_toml_exists():
        return ""
    return str(st.secrets.get("live", {}).get(secret, "")).strip()


def _plain(model: Any) -> Any:
    return None if model is None else model.model_dump(mode="python")


def _digest(parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=_revealed)
    return hashlib.sha256(text.encode()).hexdigest()


def _revealed(value: Any) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
