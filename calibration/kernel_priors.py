"""What measured kernels say of the roofline's efficiencies (``kernels.yaml``), as centres of priors."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import cast

import yaml

KERNELS = Path(__file__).with_name("kernels.yaml")


Members = Mapping[str, Mapping[str, float]]


@cache
def kernels() -> Mapping[str, Members]:
    """The committed file by group and member; what holds for all has the one member ``all``."""
    raw = yaml.safe_load(KERNELS.read_text(encoding="utf-8"))
    return cast(Mapping[str, Members], {**raw, "common": {"all": raw["common"]}})


def kernel_centre(group: str, member: str, name: str) -> float | None:
    """What kernels measured for a family, an engine or all; a member that has not been measured has its group's
    default. None where they say nothing."""
    members = kernels().get(group, {})
    default = "all" if group == "common" else "default"
    return members.get(member, {}).get(name, members.get(default, {}).get(name))
