"""What is said of the name of an accelerator that the catalogue does not have: near names of its vendor, or why not."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from types import MappingProxyType

from sizing.base.errors import UnknownName, nearest_names
from sizing.catalog.files import read_yaml
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_rows import gpus

LIKE_DIGITS, LIKE_WORDS = 0.7, 0.75
"""Similarity (difflib) from which model numbers and product words count as mistyped: 1000 is near 100 and 3080 near
3090, while 900 is no 100."""
SHORTEST_WORD = 4
"""Letters from which a word can be mistyped; of fewer ("b" of a B100, "p" of a P100) each is another product."""
OWN_GPU = (
    "One that the catalogue does not have can be entered: “Add an accelerator of your own” in the form,"
    " deployment.custom_gpus in a scenario file."
)
"""What can be done about a name that nothing is near to."""

_VENDORS: Mapping[str, str] = MappingProxyType(
    {
        "NVIDIA": r"nvidia|geforce|quadro|tesla|jetson|titan|dgx|hgx|rtx|gtx|kepler|maxwell|pascal|volta|turing|"
        r"ampere|ada|hopper|blackwell|grace|rubin",
        "AMD": r"amd|radeon|instinct|firepro|rx|mi\d+\w*|epyc|ryzen|strix|gfx\d+|cdna\d?|rdna\d?|vega",
        "Intel": r"intel|arc|gaudi\d?|xeon|flex|max|habana|hl",
        "Google": r"google|tpu\w*",
        "AWS": r"aws|amazon|trainium\d?|trn\d?|inferentia\d?|inf\d?|graviton\d?",
        "Huawei": r"huawei|ascend\w*|atlas|kunpeng|910\w?",
        "Apple": r"apple|mac|m\d",
    }
)
"""Words that a vendor's products are called by."""
_BRANDS = frozenset(
    {"nvidia", "geforce", "tesla", "radeon", "instinct", "intel", "google", "huawei", "apple", "server"}
)
"""Words that say a vendor or a kind, and no product."""


@dataclass(frozen=True, kw_only=True)
class GpuRefusal:
    """A product that is known and not sized: its ``label``, ``why``, and the ids of what is ``nearest``."""

    label: str
    names: tuple[str, ...]
    why: str
    nearest: tuple[str, ...]
    source: str
    date: str


@cache
def gpu_refusals() -> tuple[GpuRefusal, ...]:
    """Products that are known and not sized, in file order."""
    rows = read_yaml("gpu_refusals.yaml")
    return tuple(GpuRefusal(**row | {key: tuple(row[key]) for key in ("names", "nearest")}) for row in rows)


def unknown_gpu(name: str) -> UnknownName:
    """The error for a name that no accelerator has: why that product is not sized, or names like it, or the way to
    enter an own one."""
    squeezed = re.sub(r"[^a-z0-9]", "", name.lower())
    for refusal in gpu_refusals():
        if squeezed in {re.sub(r"[^a-z0-9]", "", known) for known in refusal.names}:
            return UnknownName("GPU", name, nearest=refusal.nearest, why=f"{refusal.label} is not sized: {refusal.why}")
    near = near_gpus(name[:200])
    return UnknownName("GPU", name, nearest=near, why="" if near else OWN_GPU)


def near_gpus(name: str) -> list[str]:
    """The nearest names of three accelerators, of the vendor that the name says and of like product words alone."""
    vendor = _vendor_of(name)
    owner = {spelling: gpu for gpu in gpus().values() if vendor in ("", gpu.vendor) for spelling in _spellings(gpu)}
    distinct: dict[str, str] = {}
    for near in nearest_names(name, owner, 40, cutoff=0.4):
        if _alike(name, near):
            distinct.setdefault(owner[near].id, near)
    return list(distinct.values())[:3]


def _spellings(gpu: Gpu) -> tuple[str, ...]:
    return (gpu.id, gpu.name, *gpu.aliases)


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _vendor_of(name: str) -> str:
    """The vendor that a word of the name says, "" where none does or several do."""
    words = _words(name)
    vendors = [vendor for vendor, own in _VENDORS.items() if any(re.fullmatch(own, word) for word in words)]
    return vendors[0] if len(vendors) == 1 else ""


def _numbers(name: str) -> Iterator[tuple[str, str]]:
    """Model numbers with the letters before them: ("h", "100"), ("rtx", "4090"), ("", "7900")."""
    yield from re.findall(r"([a-z]*)[ _-]*(\d+)", name.lower())


def _alike(typed: str, near: str) -> bool:
    """Whether two names share a series with a like model number, or a product word."""
    for letters, digits in _numbers(typed):
        for known_letters, known_digits in _numbers(near):
            one_series = letters == known_letters and digits[0] == known_digits[0]
            if one_series and _like(digits, known_digits, LIKE_DIGITS):
                return True
    return any(_like(word, known, LIKE_WORDS) for word in _product_words(typed) for known in _product_words(near))


def _product_words(name: str) -> list[str]:
    words = re.findall(r"[a-z]+", name.lower())
    return [word for word in words if len(word) >= SHORTEST_WORD and word not in _BRANDS]


def _like(one: str, other: str, least: float) -> bool:
    return SequenceMatcher(None, one, other).ratio() >= least
