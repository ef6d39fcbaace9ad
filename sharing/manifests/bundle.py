"""All files of a plan, in a folder or in one zip: every target that can express it, and what was left out and why."""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sharing.errors import ForeignFolder
from sharing.manifests import (
    balancer,
    benchmarks,
    compose,
    dashboard,
    dynamo,
    fleets,
    keda,
    kserve,
    kubernetes,
    llm_d,
    nim,
    objectives,
    production_stack,
    triton,
)
from sharing.manifests.facts import ManifestFacts, facts_of
from sharing.manifests.readme import readme
from sharing.manifests.targets import File, Json, ManifestTarget, TargetReason, Yaml
from sizing.base.result import Plan
from sizing.planning.answered import Answer

TARGETS: tuple[ManifestTarget, ...] = (
    kubernetes.TARGET,
    production_stack.TARGET,
    kserve.TARGET,
    llm_d.TARGET,
    dynamo.TARGET,
    dynamo.REQUEST,
    nim.TARGET,
    triton.TARGET,
    compose.TARGET,
    balancer.TARGET,
    keda.TARGET,
    objectives.RULES,
    objectives.PYRRA,
    dashboard.TARGET,
    benchmarks.TARGET,
)
README, INDEX = "README.md", "index.json"

SAME_DAY = (1980, 1, 1, 0, 0, 0)
"""The time that every file in a zip has, so that the same plan makes the same bytes."""
READABLE = 0o644 << 16

PART = ".new-"
"""How the name of a file begins until all are written."""


class _Dumper(yaml.SafeDumper):
    """Writes a part that stands in several places in each of them, since aliases are hard to read."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def manifests(answer: Answer) -> dict[str, str]:
    """Content by file name: the manifests, README.md, and index.json with the sums of all of them; of a mixed fleet
    that is cheaper than the plan those of each fleet, and the router in front of them; of prefill and decode on two GPU
    types where these are advised.

    Same inputs, same bytes. Raises NothingToDeploy where the plan deploys nothing.
    """
    contents = _of_fleets(answer) if answer.fleets else _of_one(facts_of(answer.pools or answer))
    return contents | {INDEX: index(answer.plan, contents)}


def _of_one(facts: ManifestFacts, prefix: str = "") -> dict[str, str]:
    """The files of one fleet, whose names begin with ``prefix``."""
    left_out = refused(facts)
    files = {target.id: target.files(facts) for target in TARGETS if target not in left_out}
    contents = {f"{prefix}{name}": rendered(file) for own in files.values() for name, file in own.items()}
    written = {target: [f"{prefix}{name}" for name in own] for target, own in files.items()}
    return contents | {f"{prefix}{README}": readme(facts, written, left_out)}


def _of_fleets(answer: Answer) -> dict[str, str]:
    """The files of every fleet of a mix, the router in front of them, and README.md of the whole."""
    each = fleets.facts_of_fleets(answer)
    own = {facts.name: _of_one(facts, fleets.prefix(number)) for number, facts in enumerate(each, start=1)}
    contents = {name: text for files in own.values() for name, text in files.items()}
    contents[fleets.ROUTER] = rendered(fleets.router(answer, each))
    written = {name: list(files) for name, files in own.items()}
    return contents | {README: fleets.readme(answer, each, written)}


def refused(facts: ManifestFacts) -> dict[ManifestTarget, TargetReason]:
    """The targets that cannot express the deployment, each with its reason."""
    reasons = ((target, target.refuses(facts)) for target in TARGETS)
    return {target: reason for target, reason in reasons if reason is not None}


def rendered(file: File) -> str:
    """A file as text."""
    if isinstance(file, Yaml):
        return yaml.dump_all(file.documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return json.dumps(file.document, indent=2) + "\n" if isinstance(file, Json) else file.text


def index(plan: Plan, contents: Mapping[str, str]) -> str:
    """Which files were written by what, by which a later export knows its own."""
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(contents.items())}
    written_by = {"engine_version": plan.engine_version, "data_version": plan.data_version}
    return json.dumps({**written_by, "sha256": sums}, indent=2) + "\n"


def write_folder(contents: Mapping[str, str], folder: Path) -> None:
    """Write the files; a folder may be new, empty, or hold an earlier export that nobody has changed since.

    Raises ForeignFolder for any other, and for a link in the place of the folder or of a file; nothing is written then,
    nor where one of the files cannot be written.
    """
    if folder.is_symlink():
        raise ForeignFolder(f"{folder} is a link: name the folder that it leads to.")
    if folder.exists() and not folder.is_dir():
        raise ForeignFolder(f"{folder} is a file: name a folder.")
    before = _earlier(folder) if folder.is_dir() else ()
    folder.mkdir(parents=True, exist_ok=True)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _write(contents, place)
        for name in contents:
            os.replace(PART + name, name, src_dir_fd=place, dst_dir_fd=place)
        for name in set(before) - contents.keys():
            os.unlink(name, dir_fd=place)
    finally:
        os.close(place)


def _write(contents: Mapping[str, str], place: int) -> None:
    """Write every file beside its place in an open folder; none where one of them cannot be written."""
    begun = []
    try:
        for name, text in contents.items():
            made = os.open(PART + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=place)
            begun.append(PART + name)
            with os.fdopen(made, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except BaseException:
        for name in begun:
            os.unlink(name, dir_fd=place)
        raise


def _earlier(folder: Path) -> tuple[str, ...]:
    """The files of an earlier export. Raises ForeignFolder where anything else is there, or one was changed."""
    present = sorted(folder.iterdir())
    sums = _sums(folder / INDEX)
    for path in present:
        if path.is_symlink() or not path.is_file():
            raise ForeignFolder(f"{folder} holds {path.name}, which no export wrote: name another folder.")
        own = (path.name == INDEX and sums) or sums.get(path.name) == hashlib.sha256(path.read_bytes()).hexdigest()
        if not own:
            changed = "which was changed since it was exported" if path.name in sums else "which no export wrote"
            raise ForeignFolder(f"{folder} holds {path.name}, {changed}: name another folder.")
    return tuple(path.name for path in present)


def _sums(index: Path) -> dict[str, str]:
    """What an earlier export wrote; nothing where there was none."""
    if index.is_symlink() or not index.is_file():
        return {}
    try:
        sums = json.loads(index.read_text(encoding="utf-8"))["sha256"]
    except (ValueError, KeyError, TypeError):
        return {}
    return sums if isinstance(sums, dict) else {}


def zipped(contents: Mapping[str, str]) -> bytes:
    """The files as one zip: the same plan, the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, SAME_DAY)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, READABLE
            archive.writestr(entry, text)
    return made.getvalue()
