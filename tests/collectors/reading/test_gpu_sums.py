"""Plain sums over GPUs: taken only where the answer proves that no blank value is in it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from collectors.backends.backend import Ranges, Vectors
from collectors.prometheus.answers import Sample
from collectors.reading.gpu_sums import plain_expressions, with_sums
from collectors.reading.gpus import FLEET_GPUS, GpuJoin, gpu_expressions, gpu_scope
from collectors.vocabulary import gpu_vocabularies
from collectors.vocabulary.expressions import Scope

DCGM = gpu_vocabularies()["dcgm"]
BLANK = 2_147_483_632.0
GPUS = float(FLEET_GPUS + 500)
WINDOW = Scope(window_s=300.0, step_s=60.0)


class Source:
    """Answers nothing, and keeps what it was asked."""

    where, dedicated = "source", False

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}

    def vectors(self, expressions: Mapping[str, str], *, at_s: float | None) -> Vectors:
        self.asked |= expressions
        return Vectors(samples={key: (Sample(labels={}, time_s=0.0, value=1.0),) for key in expressions})

    def ranges(self, expressions: Mapping[str, str], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        raise NotImplementedError


def join(*, single: bool = True, devices: float = GPUS) -> GpuJoin:
    return GpuJoin(vocabulary=DCGM, always='pod!=""', sign="DCGM_FI_DEV_FB_USED", devices=devices, single=single)


def test_the_plain_form_has_neither_filter_nor_grouping() -> None:
    found = join()
    scope = gpu_scope(found, WINDOW)
    plain = plain_expressions(gpu_expressions(DCGM, scope), found, scope)
    assert plain["busy.0"].text == 'avg(DCGM_FI_DEV_GPU_UTIL{pod!=""}) * 0.01'
    assert plain["power.0"].text == 'sum(DCGM_FI_DEV_POWER_USAGE{pod!=""})'
    assert plain["devices.0"].text == 'count(DCGM_FI_DEV_FB_USED{pod!=""})'
    assert not {"xid.0", "throttle_reasons.0", "thermal_throttled.0"} & plain.keys()


@pytest.mark.parametrize("found", [join(single=False), join(devices=8.0)])
def test_gpus_with_several_series_and_small_deployments_are_asked_exactly(found: GpuJoin) -> None:
    scope = gpu_scope(found, WINDOW)
    assert not plain_expressions(gpu_expressions(DCGM, scope), found, scope)


@pytest.mark.parametrize("blank", [BLANK, 140_737_488_355_328.0, 9_223_372_036_854_775_794.0])
def test_one_blank_among_all_gpus_is_noticed(blank: float) -> None:
    found = join()
    scope = gpu_scope(found, WINDOW)
    plain = plain_expressions(gpu_expressions(DCGM, scope), found, scope)
    others = GPUS - 1
    assert not plain["busy.0"].proven([blank / GPUS * 0.01])
    assert plain["busy.0"].proven([0.97])
    assert not plain["power.0"].proven([500.0 * others + blank])
    assert plain["power.0"].proven([700.0 * GPUS])
    assert not plain["temperature.0"].proven([blank])
    assert plain["temperature.0"].proven([83.0])
    assert not plain["temperature.0"].proven([math.nan])


def test_what_is_not_proven_is_asked_exactly() -> None:
    found, source = join(), Source()
    scope = gpu_scope(found, WINDOW)
    exact = gpu_expressions(DCGM, scope)
    plain = plain_expressions(exact, found, scope)
    answers = {f"gpu/{key}": (Sample(labels={}, time_s=0.0, value=0.5),) for key in plain}
    answers["gpu/power.0"] = (Sample(labels={}, time_s=0.0, value=3 * BLANK),)
    said = with_sums(source, Vectors(samples=answers), exact, plain, 0.0, before="gpu/")
    assert source.asked == {"gpu/power.0": exact["power.0"]}
    assert said.of("gpu/power.0")[0].value == 1.0
    assert said.of("gpu/busy.0")[0].value == 0.5
