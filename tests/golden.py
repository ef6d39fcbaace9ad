"""Golden answers: figures in one file, sentences in another, and the version of the engine that figures belong to.

A changed wording touches files of sentences alone. A changed figure asks for another version of the engine: those of a
released version stay as they were released.
"""

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from sizing.base.version import ENGINE_VERSION, gives_the_figures_of

ROOT = Path(__file__).parents[1]

TEXTS = {
    *("about", "answer", "assumptions", "basis", "closest", "configuration", "explained", "formula", "how_sure"),
    *("label", "limited_by", "message", "name", "planned_deployment", "reason", "relaxation", "scenario"),
    *("sentences", "source", "warnings"),
}
"""Keys whose values are written for readers, with all that is below them. Everything else is a figure."""

NUMBER = re.compile(r"\d[\d,]*\.?\d*")
RAISE = (
    "raise the minor number of ENGINE_VERSION in sizing/base/version.py, say what moved in CHANGELOG.md under Next "
    'as "Results changed", and renew with --renew-golden.'
)
RELEASED = re.compile(r"^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$", re.MULTILINE)


def split(value: Any, path: str = "") -> tuple[Any, dict[str, Any]]:
    """The figures of an answer, in their places, and its texts by path, such as ``warnings[0].message``."""
    texts: dict[str, Any] = {}
    if isinstance(value, dict):
        texts |= {f"{path}.{key}".lstrip("."): one for key, one in value.items() if key in TEXTS}
        inner = {key: split(one, f"{path}.{key}".lstrip(".")) for key, one in value.items() if key not in TEXTS}
        figures: Any = {key: found for key, (found, _) in inner.items()}
        return figures, texts | {where: one for _, below in inner.values() for where, one in below.items()}
    if isinstance(value, list):
        items = [split(one, f"{path}[{place}]") for place, one in enumerate(value)]
        return [found for found, _ in items], {where: one for _, below in items for where, one in below.items()}
    return value, texts


def whole(figures: Any, texts: dict[str, Any]) -> Any:
    """The answer again, from both; ``figures`` becomes it."""
    for path, text in texts.items():
        *parents, key = [int(step) if step.isdigit() else step for step in re.findall(r"\w+", path)]
        place = figures
        for parent in parents:
            place = place[parent]
        place[key] = text
    return figures


class Golden:
    """Golden answers in a folder: figures in ``figures/NAME.json``, texts in ``sentences/NAME.json``.

    ``versioned``: figures move only together with the version of the engine, and ``version.json`` holds that version
    beside the SHA-256 digest of each file of figures.
    """

    def __init__(self, folder: Path, *, versioned: bool = False) -> None:
        self.figures, self.sentences = folder / "figures", folder / "sentences"
        self.record = folder / "version.json" if versioned else None

    def names(self) -> set[str]:
        """Names of the answers that are kept in either folder."""
        return {file.stem for part in (self.figures, self.sentences) for file in part.glob("*.json")}

    def answer(self, name: str) -> Any:
        """The whole answer that is kept."""
        return whole(_read(self.figures / f"{name}.json"), _read(self.sentences / f"{name}.json"))

    def check(self, name: str, answer: Any, *, renew: bool, rel_tol: float) -> None:
        """Compare an answer with the kept one, or keep it. Fails the test on a difference."""
        figures, texts = split(answer)
        figures_file, texts_file = self.figures / f"{name}.json", self.sentences / f"{name}.json"
        if renew:
            kept = _read(figures_file) if figures_file.exists() else None
            moved = bool(differences(kept, _among(figures, kept), rel_tol=rel_tol))
            changed = bool(differences(kept, figures, rel_tol=rel_tol))
            self.renew_figures(figures_file.name, _text(figures), changed=changed, moved=moved)
            texts_file.write_text(_text(texts), encoding="utf-8")
        changes = differences(_read(figures_file), figures, rel_tol=rel_tol)
        assert not changes, "\n".join([self.moved(), *changes[:20]])
        changes = differences(_read(texts_file), texts, rel_tol=rel_tol)
        assert not changes, "\n".join(["Sentences changed. Meant? Then renew with --renew-golden.", *changes[:20]])

    def moved(self) -> str:
        """What to do where figures are not those that are kept."""
        meant = RAISE if self.record else "renew with --renew-golden."
        return f"Golden figures changed. Meant? Then {meant}"

    def renew_figures(self, file_name: str, text: str, *, changed: bool, moved: bool) -> None:
        """Keep figures; ``changed``: beyond what processors round differently; ``moved``: not by new fields alone.

        Fails the test where the engine's version was released with other figures.
        """
        file = self.figures / file_name
        if self.record is None:
            file.write_text(text, encoding="utf-8")
            return
        was_released = is_released(ENGINE_VERSION, released())
        recorded = _read(self.record)["figures"].get(file_name) if self.record.exists() else None
        if was_released and file.exists() and (moved or recorded not in (None, _digest(file))):
            pytest.fail(f"Engine {ENGINE_VERSION} was released with other figures in {file_name}: {RAISE}")
        if changed or not was_released:
            file.write_text(text, encoding="utf-8")
        self.record.write_text(_text(self.recorded_today()), encoding="utf-8")

    def recorded_today(self) -> dict[str, Any]:
        """What ``version.json`` holds once it is renewed."""
        files = sorted(self.figures.iterdir())
        digests = {file.name: _digest(file) for file in files}
        return {"version": ENGINE_VERSION, "figures": digests}


def released() -> list[str]:
    """Versions that CHANGELOG.md has a release of, the latest first."""
    return RELEASED.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


def is_released(version: str, releases: list[str]) -> bool:
    """Whether a release promised the figures of this version."""
    return any(gives_the_figures_of(version, one) for one in releases)


def _among(new: Any, kept: Any) -> Any:
    """What of a new answer has a place in the kept one: a field that is added moves none of its figures."""
    if isinstance(new, dict) and isinstance(kept, dict):
        return {key: _among(one, kept[key]) for key, one in new.items() if key in kept}
    if isinstance(new, list) and isinstance(kept, list) and len(new) == len(kept):
        return [_among(one, other) for one, other in zip(new, kept, strict=True)]
    return new


def differences(old: Any, new: Any, path: str = "", *, rel_tol: float = 1e-9) -> list[str]:
    """Where two plans differ; floats may differ in their last digits between platforms."""
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = [(f"{path}.{k}", old.get(k, "missing"), new.get(k, "missing")) for k in dict.fromkeys([*old, *new])]
        return [d for where, a, b in pairs for d in differences(a, b, where, rel_tol=rel_tol)]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(old, new, strict=True))]
        return [d for where, a, b in pairs for d in differences(a, b, where, rel_tol=rel_tol)]
    if isinstance(old, float) and isinstance(new, float) and math.isclose(old, new, rel_tol=rel_tol):
        return []
    if isinstance(old, str) and isinstance(new, str) and _same_words(old, new, rel_tol):
        return []
    return [] if old == new else [f"{path[1:]}: {str(old)[:120]} -> {str(new)[:120]}"]


def _same_words(old: str, new: str, rel_tol: float) -> bool:
    """Whether two sentences differ in nothing but the last digits of their numbers."""
    if NUMBER.sub("#", old) != NUMBER.sub("#", new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(
        a == b or math.isclose(*(float(n.replace(",", "")) for n in (a, b)), rel_tol=2 * rel_tol) for a, b in pairs
    )


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
