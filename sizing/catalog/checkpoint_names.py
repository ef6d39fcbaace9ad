"""The name of a checkpoint taken apart: what it says of the architecture, and what of the weight format.

``nvidia/DeepSeek-R1-0528-FP4-V2`` is the model ``deepseek r1``, of the release ``0528``, with weights in NVFP4. The
words are data: ``checkpoint_names.yaml`` and the marks of each format in ``precisions.yaml``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Literal

from sizing.catalog.files import read_yaml
from sizing.catalog.precisions import WIDE_BYTES, Precision, precisions

WordKind = Literal["model", "size", "variant", "release", "version", "context", "format"]

LONGEST = 200
"""Characters of a name that are read; the longest id of the catalogue has 52."""

_SIZE = re.compile(r"^(\d+x)?[ae]?\d+(\.\d+)?[bm]$")
_RELEASE = re.compile(r"^(\d{4}|\d{6}|\d{8})$")
_VERSION = re.compile(r"^v\d+(\.\d+)*$")
_CONTEXT = re.compile(r"^(\d+k|1m)$")
_HOSTED = re.compile(r"-v?[1-9]\d*:\d+$")
"""What Amazon Bedrock writes behind a model for the version of its own interface: ``llama3-3-70b-instruct-v1:0``."""

_SNAPSHOT = re.compile(r"/snapshots/[^/]*/?$")
"""Where the cache of Hugging Face keeps a revision of a model."""
_GGUF = re.compile(r"^(i|t)?q\d(\.\d)*$")
_GGUF_TAIL = frozenset({"k", "0", "1", "xxs", "xs", "s", "m", "l", "xl", "nl", "ks", "km", "kl"})
_GGUF_FILE = re.compile(r"(-\d{5}-of-\d{5})?\.gguf$")
"""How the name of a GGUF file, or of its first part, ends."""
_DOTTED = re.compile(r"\.(?=(i1|(i|t)?q\d|b?f16|f32|gguf)\b|(i|t)?q\d_)")
"""The point that some converters write before the type of a GGUF file: ``llama-2-7b.Q4_K_M.gguf``."""
_TAG = re.compile(r"^(ollama/|library/|registry\.ollama\.ai/library/)?[^/:]+:(?!\d+$)[^/:]+$")
"""What Ollama calls a model of its own library: a name and a tag, which is never a number alone (Bedrock: ``v0:2``)."""


@dataclass(frozen=True, kw_only=True)
class Word:
    """One word of a name in lower case, and what it speaks of."""

    text: str
    kind: WordKind


@dataclass(frozen=True, kw_only=True)
class CheckpointName:
    """A name taken apart. ``precision`` is the weight format it tells, None where it tells none.

    ``of_files``: a tag of Ollama or a repository of GGUF files, of which a type is loaded whether it says one or not.
    """

    words: tuple[Word, ...]
    precision: Precision | None
    of_files: bool = False

    def key(self, *left_out: WordKind) -> str:
        """The words that remain without those kinds: equal keys are the same name."""
        return "-".join(word.text for word in self.words if word.kind not in left_out)

    def texts(self, *kinds: WordKind) -> tuple[str, ...]:
        """The words of those kinds, in order."""
        return tuple(word.text for word in self.words if word.kind in kinds)


@lru_cache(maxsize=4096)
def parse(name: str) -> CheckpointName:
    """``name`` taken apart: a Hugging Face id, a path, or what an engine calls the model."""
    remarks = " ".join(re.findall(r"\(([^)]*)\)", name[:LONGEST]))
    name = _SNAPSHOT.sub("", name.replace("\\", "/"))
    whole = re.sub(r"\([^)]*\)", "", name[:LONGEST].lower()).strip()
    base = _HOSTED.sub("", whole).replace("--", "/").strip("/ ")
    base = _DOTTED.sub("-", _GGUF_FILE.sub("-gguf", base))
    words = _classified(_split(_without_publisher(_punctuated(base.rsplit("/", 1)[-1]))))
    marks = [word.text for word in words if word.kind == "format"]
    of_files = "gguf" in marks or bool(_TAG.match(whole) and not _HOSTED.search(whole))
    marks += _split(_punctuated(remarks.lower()))
    return CheckpointName(words=words, precision=told_precision(marks), of_files=of_files)


def told_precision(marks: list[str]) -> Precision | None:
    """The weight format of some marks: of a method its 8-bit form where the name says 8 bit, else the narrowest."""
    known = precisions()
    marks = _joined(marks)
    marked = [known[_marks()[mark]] for mark in marks if mark in _marks()]
    methods = [known[_methods()[mark]] for mark in marks if mark in _methods()]
    if methods:
        return known["int8_wo"] if any(1.0 <= one.bytes < WIDE_BYTES for one in marked) else methods[-1]
    if not marked:
        return None
    narrowest = min(precision.bytes for precision in marked)
    equal = [precision for precision in marked if precision.bytes == narrowest]
    return known["fp8"] if known["fp8"] in equal else equal[-1]


def _joined(marks: list[str]) -> list[str]:
    """The same with the parts of a GGUF type as one word (q4, k, m); of one that is not known, the parts that are."""
    joined: list[str] = []
    parts: list[str] = []
    for mark in (*marks, ""):
        if parts and mark in _GGUF_TAIL:
            parts.append(mark)
            continue
        tried = ("_".join(parts[:n]).replace(".", "_") for n in range(len(parts), 0, -1))
        joined += [name for name in tried if name in _marks()][:1]
        parts = [mark] if _GGUF.match(mark) else []
        joined += [] if parts else [mark]
    return joined


def _punctuated(text: str) -> str:
    """One separator between words, and a decimal point inside numbers (``3_3``, ``3p3``, ``3-3-70b``)."""
    text = re.sub(r"(?<=\d)[_p](?=\d)", ".", text)
    text = re.sub(r"(?<=\w)\+$", "-plus", re.sub(r"(?<=-v0):(?=\d)", ".", text))
    text = re.sub(r"(\d)[-_ ]bits?\b", r"\1bit", text)
    text = re.sub(r"([a-z]-?\d)-(\d)-(?=\d+b\b)", r"\1.\2-", text)
    return (
        re.sub(r"[\s_:+@,-]+", "-", text).replace("quantized.w", "quantized-w").replace("fp8.e4m3", "fp8").strip("-.")
    )


def _without_publisher(base: str) -> str:
    for prefix in _words()["publishers"]:
        base = base.removeprefix(prefix)
    return base


def _split(base: str) -> list[str]:
    """Words of a name; a family and its generation are two (``llama3.1``), a word said twice at the start is one."""
    parts: list[str] = []
    for part in filter(None, base.split("-")):
        family = re.match(r"^([a-z]{2,})(\d+(?:\.\d+)?)$", part)
        whole = part in _marks() or part in _methods() or _is_packing(part) or _GGUF.match(part) or family is None
        parts.extend([part] if whole or family is None else family.groups())
    if len(parts) > 1 and parts[0] == parts[1]:
        parts = parts[1:]
    return parts


def _classified(parts: list[str]) -> tuple[Word, ...]:
    words: list[Word] = []
    for part in parts:
        kind = _kind(part, words)
        words.append(Word(text=part, kind=kind))
    return tuple(words)


def _kind(part: str, before: list[Word]) -> WordKind:
    """What a word speaks of; the first word is always the model's, and what follows a format may belong to it."""
    if not before:
        return "model"
    after_format = before[-1].kind == "format"
    if part in _marks() or part in _methods() or _is_packing(part) or _GGUF.match(part):
        return "format"
    if after_format and (_VERSION.match(part) or (part in _GGUF_TAIL and any(_GGUF.match(w.text) for w in before))):
        return "format"
    if part in _words()["variants"]:
        return "variant"
    patterns: tuple[tuple[WordKind, re.Pattern[str]], ...] = (
        ("context", _CONTEXT),
        ("size", _SIZE),
        ("release", _RELEASE),
        ("version", _VERSION),
    )
    return next((kind for kind, pattern in patterns if pattern.match(part)), "model")


def _is_packing(part: str) -> bool:
    return part in _words()["packing"]


@cache
def _words() -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType(
        {kind: tuple(map(str, words)) for kind, words in read_yaml("checkpoint_names.yaml").items()}
    )


def changes_architecture(word: str) -> bool:
    """Whether a word tells another architecture than the model named beside it (``minitron``, ``eagle3``)."""
    return word in _words()["other_architecture"]


@cache
def _marks() -> Mapping[str, str]:
    """Words that tell a format, those of methods not among them: word -> id of the format."""
    return MappingProxyType({str(mark): p.id for p in precisions().values() for mark in p.checkpoint_marks})


@cache
def _methods() -> Mapping[str, str]:
    return MappingProxyType({mark: p.id for p in precisions().values() for mark in p.checkpoint_methods})
