"""The interval chart of a comparison and its tables: the same numbers, none drawn that is not there."""

import math

import pytest

from collectors.questions.deployments import ObservedDeployment
from collectors.reading.observation import State
from reality.compare import compare
from reality.result import RealityComparison
from tests.reality.truths import planned, scenario, silent, simulated_truth
from ui.figures.verdicts import REASON, build_verdicts, drawn, performance_table, traffic_table, verdicts_alt_text


@pytest.fixture(scope="module")
def judged() -> RealityComparison:
    observed, seen = simulated_truth(scenario(), rps=6.0, replicas=4, slower=2.0)
    return compare(planned(scenario()), observed, seen)


@pytest.fixture(scope="module")
def unknown() -> RealityComparison:
    return compare(planned(scenario()), silent(State.UNREACHABLE), ObservedDeployment())


@pytest.mark.parametrize("dark", [False, True])
def test_every_judged_quantity_has_a_band_and_a_point(judged: RealityComparison, dark: bool) -> None:
    figure = build_verdicts(judged.performance, dark=dark)
    bands = next(trace for trace in figure.data if trace.type == "bar")
    points = [name for trace in figure.data if trace.type == "scatter" for name in trace.y]
    assert sorted(bands.y) == sorted(points)
    assert {"mean TTFT (ms)", "p95 TPOT (ms)", "Output tokens/s per GPU", "GPUs"} <= set(points)
    names = {trace.name for trace in figure.data}
    assert {"Measured: higher", "Measured: as expected", "Predicted, 80 % interval"} <= names
    assert figure.layout.xaxis.type == "log"
    assert "(ratio)" in figure.layout.xaxis.title.text


def test_verdicts_differ_by_marker_not_only_by_colour(judged: RealityComparison) -> None:
    scatter = [trace for trace in build_verdicts(judged.performance).data if trace.type == "scatter"]
    assert len({trace.marker.symbol for trace in scatter}) == len(scatter)


def test_bands_are_the_interval_relative_to_the_prediction(judged: RealityComparison) -> None:
    bands = next(trace for trace in build_verdicts(judged.performance).data if trace.type == "bar")
    row = next(r for r in judged.performance if r.key == "tpot_ms.mean")
    place = list(bands.y).index("mean TPOT (ms)")
    assert bands.base[place] == pytest.approx(row.predicted.low / row.predicted.value)
    assert bands.base[place] + bands.x[place] == pytest.approx(row.predicted.high / row.predicted.value)


def test_without_data_there_is_a_sentence_and_no_zero(unknown: RealityComparison) -> None:
    figure = build_verdicts(unknown.performance)
    assert not figure.data
    assert "no quantity" in figure.layout.annotations[0].text
    assert verdicts_alt_text(unknown) == figure.layout.annotations[0].text
    for table in (performance_table(unknown), traffic_table(unknown.traffic)):
        assert all(value is None or math.isnan(value) for value in table["Measured"])
        assert set(table["Verdict"]) == {"cannot judge"}
        assert all(table[REASON])


def test_tables_hold_every_row_with_units(judged: RealityComparison) -> None:
    table = performance_table(judged)
    assert table["Quantity"].tolist() == [row.label for row in judged.performance]
    assert all(table["Unit"])
    assert "higher" in set(table["Verdict"])
    assert len(traffic_table(judged.traffic)) == len(judged.traffic)
    counted = verdicts_alt_text(judged)
    assert f"{sum(r.verdict == 'higher' for r in judged.performance)} higher" in counted


def test_every_quantity_is_drawn_with_its_unit_once(judged: RealityComparison) -> None:
    rows = list(judged.performance)
    bands = next(trace for trace in build_verdicts(rows).data if trace.type == "bar")
    names = dict(zip([row.key for row in drawn(rows)], bands.y, strict=True))
    assert names["replicas"] == "Replicas"
    assert names["running"] == "Running sequences (requests)"
    for row in drawn(rows):
        assert names[row.key].lower().count(row.unit.lower()) == 1
