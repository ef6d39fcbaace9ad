"""NIM beside open source in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import get_args

from sizing.base.format import count, usd
from sizing.catalog.engines import engines
from sizing.decision.nim import NimComparison, NimTopic, Profile

TOPICS: Mapping[NimTopic, str] = MappingProxyType(
    {"deploy": "To deploy", "licence": "Licence", "support": "Support and updates", "measured": "Measured side by side"}
)

PROFILES: Mapping[Profile, str] = MappingProxyType(
    {
        "listed": "a listed profile has the planned format and layout",
        "other_layout": "listed profiles of the planned format have other layouts",
        "other_format": "listed profiles of the model are of other formats",
        "other_gpu": "listed profiles are verified on other GPUs",
        "not_read": "no support matrix that was read lists the model; model-free NIM serves it without a profile",
        "not_planned": "NIM serves nothing within the limits here",
    }
)
for _words, _type in ((TOPICS, NimTopic), (PROFILES, Profile)):
    assert set(_words) == set(get_args(_type)), _type


def nim_sentences(one: NimComparison, money: Callable[[float], str] = usd) -> tuple[str, ...]:
    """What NIM is beside the engine inside it, what it costs more, and which profiles it has."""
    engine = engines()[one.inside].label
    same = (
        f"NIM {one.version} is {engine} {one.inside_version} in a container ({engine} by itself: {one.newest}): step "
        "times and scheduler are the same."
    )
    more = (
        "What the licence adds is not known here."
        if one.usd_more is None
        else f"With NVIDIA AI Enterprise the same hardware costs {money(one.usd_more)} a month more."
    )
    surer = ""
    if one.nim.gpus != one.open_source.gpus and one.nim.gpus is not None and one.open_source.gpus is not None:
        surer = (
            f" Planned by what is measured of each, NIM takes {count(one.nim.gpus)} and {engine} "
            f"{count(one.open_source.gpus)} GPUs: less is known of NIM, and as sure it has to be."
        )
    listed = f": {', '.join(one.profiles)} ({one.profile_source})" if one.profiles else ""
    return same + surer, more, f"Profiles: {PROFILES[one.profile]}{listed}."
