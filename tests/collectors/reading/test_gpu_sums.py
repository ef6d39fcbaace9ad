"""Plain sums over GPUs: taken only where the answer proves that no blank value is in it."""

import math
from collections.abc import Sequence

import pytest

from collectors.backends.backend import Ranges, Vectors
from collectors.prometheus.answers import Sample
from collectors.queries.query import Query
from collectors.reading.gpu_join import FLEET_GPUS, GpuJoin, gpu_scope
from collectors.reading.gpu_sums import PlainQuery, plain_queries, with_sums
from collectors.reading.gpu_values import gpu_queries, gpu_subject
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
        self.asked: list[Query] = []

    def vectors(self, queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        self.asked += queries
        return Vectors(samples={query.subject: (Sample(labels={}, time_s=0.0, value=1.0),) for query in queries})

    def ranges(self, queries: Sequence[Query], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        raise NotImplementedError


def join(*, single: bool = True, devices: float = GPUS) -> GpuJoin:
    return GpuJoin(vocabulary=DCGM, always='pod!=""', sign="DCGM_FI_DEV_FB_USED", devices=devices, single=single)


def plain_forms(join: GpuJoin, scope: Scope) -> dict[str, PlainQuery]:
    """The plain forms by label."""
    return {q.subject.label: plain for q, plain in plain_queries(gpu_queries(DCGM, scope), join, scope).items()}


def test_the_plain_form_has_neither_filter_nor_grouping() -> None:
    found = join()
    scope = gpu_scope(found, WINDOW)
    plain = plain_forms(found, scope)
    assert plain["gpu/busy.0"].query.expression == 'avg(DCGM_FI_DEV_GPU_UTIL{pod!=""}) * 0.01'
    assert plain["gpu/power.0"].query.expression == 'sum(DCGM_FI_DEV_POWER_USAGE{pod!=""})'
    assert plain["gpu/devices.0"].query.expression == 'count(DCGM_FI_DEV_FB_USED{pod!=""})'
    assert not {"gpu/xid.0", "gpu/throttle_reasons.0", "gpu/thermal_throttled.0"} & plain.keys()


@pytest.mark.parametrize("found", [join(single=False), join(devices=8.0)])
def test_gpus_with_several_series_and_small_deployments_are_asked_exactly(found: GpuJoin) -> None:
    scope = gpu_scope(found, WINDOW)
    assert not plain_forms(found, scope)


@pytest.mark.parametrize("blank", [BLANK, 140_737_488_355_328.0, 9_223_372_036_854_775_794.0])
def test_one_blank_among_all_gpus_is_noticed(blank: float) -> None:
    found = join()
    scope = gpu_scope(found, WINDOW)
    plain = plain_forms(found, scope)
    others = GPUS - 1
    assert not plain["gpu/busy.0"].proven([blank / GPUS * 0.01])
    assert plain["gpu/busy.0"].proven([0.97])
    assert not plain["gpu/power.0"].proven([500.0 * others + blank])
    assert plain["gpu/power.0"].proven([700.0 * GPUS])
    assert not plain["gpu/temperature.0"].proven([blank])
    assert plain["gpu/temperature.0"].proven([83.0])
    assert not plain["gpu/temperature.0"].proven([math.nan])


def test_what_is_not_proven_is_asked_exactly() -> None:
    found, source = join(), Source()
    scope = gpu_scope(found, WINDOW)
    exact = gpu_queries(DCGM, scope)
    plain = plain_queries(exact, found, scope)
    answers = {query.subject: (Sample(labels={}, time_s=0.0, value=0.5),) for query in plain}
    answers[gpu_subject("power")] = (Sample(labels={}, time_s=0.0, value=3 * BLANK),)
    answer = with_sums(source, Vectors(samples=answers), plain, 0.0)
    assert source.asked == [query for query in exact if query.subject == gpu_subject("power")]
    assert answer.of(gpu_subject("power"))[0].value == 1.0
    assert answer.of(gpu_subject("busy"))[0].value == 0.5
