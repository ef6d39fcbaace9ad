"""NIM beside open source in words."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import get_args

from sizing.base.format import count, counted, usd
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.decision.nim import NimComparison, NimProfile, NimTopic
from sizing.economics.assumptions import licences_each

TOPICS: Mapping[NimTopic, str] = MappingProxyType(
    {"deploy": "To deploy", "licence": "Licence", "support": "Support and updates", "measured": "Measured side by side"}
)

PROFILES: Mapping[NimProfile, str] = MappingProxyType(
    {
        "listed": "a listed profile has the planned format and layout",
        "other_layout": "listed profiles of the planned format have other layouts",
        "other_format": "listed profiles of the model are of other formats",
        "other_gpu": "listed profiles are verified on other GPUs",
        "not_read": "no support matrix that was read lists the model; model-free NIM serves it without a profile",
        "not_planned": "NIM serves nothing within the limits here",
    }
)
for _words, _type in ((TOPICS, NimTopic), (PROFILES, NimProfile)):
    assert set(_words) == set(get_args(_type)), _type


def nim_sentences(one: NimComparison, money: Callable[[float], str] = usd) -> tuple[str, ...]:
    """What NIM is beside the engine inside it, what it costs more, and which profiles it has."""
    engine = engines()[one.inside].label
    same = (
        f"NIM {one.version} is {engine} {one.inside_version} in a container ({engine} by itself: {one.newest}): step "
        "times and scheduler are the same."
    )
    listed = f": {', '.join(one.profiles)} ({one.profile_source})" if one.profiles else ""
    return same + _why_other_gpus(one), _licence(one, money), f"Profiles: {PROFILES[one.profile]}{listed}."


def _licence(one: NimComparison, money: Callable[[float], str]) -> str:
    """What NVIDIA AI Enterprise adds to the cost of the same hardware."""
    if one.usd_more is None:
        return "What the licence adds is not known here."
    if not one.usd_more and not licences_each(one.licensed.gpu).value:
        return f"NVIDIA AI Enterprise adds nothing to the cost: {one.licensed.gpu_name} comes with it for five years."
    if not one.usd_more:
        return "NVIDIA AI Enterprise adds nothing to the cost of the same hardware."
    return f"With NVIDIA AI Enterprise the same hardware costs {money(one.usd_more)} a month more."


def _why_other_gpus(one: NimComparison) -> str:
    """Why NIM needs another number of GPUs, as plans say: format, drafts, that less is measured of it, or several."""
    nim, free, alike, bare = one.nim.gpus, one.open_source.gpus, one.in_its_format, one.without_drafts
    if nim is None or free is None or nim == free:
        return ""
    engine, reasons = engines()[one.inside].label, []
    form, other = (precisions()[each.precision].label for each in (one.nim, one.open_source))
    if form != other and alike is None:
        reasons.append(f"{form} in place of {other}, in which {engine} holds no limits")
    elif form != other and alike != free:
        reasons.append(f"{form} in place of {other} ({engine} in it: {count(alike)})")
    if bare != alike:
        reasons.append(f"no drafts, with which {engine} is planned (without: {count(bare)})")
    if bare is not None and nim > bare:
        reasons.append(f"less is measured of NIM, and as sure it has to be ({count(nim)} for {count(bare)})")
    why = f": {'; '.join(reasons)}" if reasons else ""
    return f" Planned by what is measured of each, NIM takes {count(nim)} and {engine} {counted(free, 'GPU')}{why}."
