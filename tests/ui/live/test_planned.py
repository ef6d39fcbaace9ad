"""What of a plan stands beside a measured figure: the same quantity at the same percentile, or nothing."""

import numpy as np
import pytest

from collectors.prometheus.histograms import HistogramQuantiles
from sizing.scenario.schema import Limits
from tests.reality.truths import in_buckets, observation
from ui.live.planned import PlannedQuantities
from ui.live.tiles import spark_text, tiles


def evenly(low: float, high: float) -> HistogramQuantiles:
    """A thousand values spread evenly over a range, as a server's histogram shows them."""
    return in_buckets(np.linspace(low, high, 1_000), np.ones(1_000), np.linspace(low, high, 9).tolist())


@pytest.fixture
def planned(plan):
    return PlannedQuantities(name="case", plan=plan, limits=Limits(ttft_ms=500, itl_ms=50, percentile=99))


def test_no_gap_between_single_tokens_stands_beside_the_plan(planned):
    assert planned.beside("itl_ms", "p95") == ""
    assert planned.levels("itl_ms", "p95") == ()
    assert planned.beside("tpot_ms", "p95").startswith("plan p95")


@pytest.mark.parametrize("quantile", ["p50", "p95", "p99"])
def test_a_percentile_stands_beside_the_same_percentile_of_the_plan(planned, plan, quantile):
    assert planned.beside("ttft_ms", quantile).startswith(f"plan {quantile} ")
    names = [level.name for level in planned.levels("ttft_ms", quantile)]
    assert all(quantile in name for name in names)
    assert any(name.startswith("Limit") for name in names) == (quantile == "p99")


@pytest.mark.parametrize("engine_has", ["tpot_ms", "itl_ms"])
def test_the_tile_of_gaps_is_that_of_requests_where_the_engine_records_it(planned, engine_has):
    values = {"itl_ms": evenly(1, 40), **({"tpot_ms": evenly(10, 30)} if engine_has == "tpot_ms" else {})}
    shown = {tile.label: tile for tile in tiles(observation(distributions=values))}
    label = {"tpot_ms": "p95 TPOT", "itl_ms": "p95 ITL"}[engine_has]
    assert set(shown) >= {"p95 TTFT", label}
    beside = planned.beside(shown[label].quantity, shown[label].quantile)
    assert bool(beside) == (engine_has == "tpot_ms")


def test_no_share_below_a_narrow_tile_breaks_before_its_sign():
    (cache,) = [
        tile for tile in tiles(observation({"kv_usage_max": 0.72, "kv_usage": 0.46})) if tile.label == "KV cache, peak"
    ]
    below = f"{cache.note}; {spark_text([0.38, 0.98], cache)}"
    assert below.count("\N{NO-BREAK SPACE}%") == below.count("%") >= 3
