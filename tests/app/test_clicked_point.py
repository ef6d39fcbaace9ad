"""A clicked point of Explore, and a row of the ranking, are planned as exactly that configuration."""

from collections.abc import Iterator

import pytest

from sharing.form.link import from_parameters, to_parameters
from sharing.form.presets import defaults, presets
from sharing.form.read import to_scenario
from sharing.form.write import from_scenario
from sizing import Scenario
from sizing.base.deployed import Deployed
from sizing.base.errors import SizingError
from sizing.explore.frontier import operating_points
from sizing.explore.operating_point import OperatingPoint
from sizing.explore.pinned import pinned_to
from ui.state import plan_of

SOME = 12
"""Configurations that are planned, of all that a chart holds."""


def configuration(one: Deployed | OperatingPoint) -> tuple[object, ...]:
    layouts = tuple((kind.tp, kind.pp, kind.ep, kind.dp) for kind in one.kinds)
    return one.gpu, one.engine, one.weight_precision, one.kv_precision, one.serving, layouts


def different_points(scenario: Scenario, split: str) -> Iterator[OperatingPoint]:
    shown = operating_points(scenario, gpus=["h100_sxm", "b200_sxm"], split=split)
    points = {configuration(p): p for curve in shown.curves for p in (*curve.points, *curve.beyond)}
    every = list(points.values())
    yield from every[:: max(1, len(every) // SOME)]


@pytest.mark.parametrize("split", ["engine", "serving"])
@pytest.mark.parametrize("preset", ["rag", "reasoning"])
def test_a_clicked_point_is_planned_as_it_is(preset: str, split: str) -> None:
    tried = 0
    for point in different_points(presets()[preset].scenario, split):
        pinned = from_scenario(pinned_to(point, presets()[preset].scenario))
        opened = from_parameters(to_parameters(pinned)).values
        scenario = Scenario.model_validate(to_scenario(defaults() | opened))
        try:
            plan = plan_of(scenario.model_dump_json())
        except SizingError:
            continue
        if plan.deployment is not None:  # a point beyond the limits may have no plan within them
            assert configuration(plan.deployment) == configuration(point)
            tried += 1
    assert tried
