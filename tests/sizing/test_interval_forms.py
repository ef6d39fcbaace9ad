"""Ends of intervals for a configuration that nobody measured, by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from calibration.capacity_intervals import AT_LIMITS
from calibration.conformal import INTERVAL_METRICS
from calibration.crossvalidate import UNSEEN
from calibration.held_intervals import checked, inside
from calibration.interval_forms import CAPACITY, FORMS, Form, group_wise, random_effects, shipped, sources_alike
from sizing.base.arrays import Floats
from sizing.catalog.files import DATA_DIR
from sizing.evidence.extrapolation import EXTRAPOLATIONS
from sizing.evidence.uncertainty import DIFFICULTIES


def ends(form: Form, score: list[float], unit: list[str], *shares: float) -> Floats:
    return form(pd.Series(score), pd.Series(unit), shares)


@pytest.mark.parametrize(("share", "end"), [(0.5, 3.0), (0.75, 4.0), (0.95, 4.0), (0.25, 1.0), (0.4, 2.0)])
def test_configurations_weigh_alike_and_one_more_lies_beyond(share: float, end: float) -> None:
    """Scores 1 and 2 weigh 1/2 each, 3 and 4 weigh 1, of 4: three configurations and the next. Three quarters of 4 are
    reached at 4.0; the lower 0.4 at the score that 2.4 lie at or above; 0.95 would take more than the three."""
    found = ends(group_wise, [4.0, 1.0, 2.0, 3.0], ["c", "a", "a", "b"], share)
    assert found == pytest.approx([end])


def test_a_long_sweep_says_no_more_than_a_single_row() -> None:
    found = ends(group_wise, [0.1] * 50 + [1.0, 2.0, 3.0], ["a"] * 50 + ["b", "c", "d"], 0.6)
    assert found == pytest.approx([2.0])


def test_sources_weigh_alike_and_their_configurations_alike_within_each() -> None:
    """Source a has 100 rows of one configuration at 0.1 and one row of another at 0.5, b a row at 1, c one at 2: they
    weigh 1/6 in all, 1/6, 1/3 and 1/3. Half lies at 1 and below, four fifths at 2; nine tenths at 0.1 and above."""
    unit = ["a|x"] * 100 + ["a|y", "b|x", "c|x"]
    found = ends(sources_alike, [0.1] * 100 + [0.5, 1.0, 2.0], unit, 0.1, 0.2, 0.5, 0.8)
    assert found == pytest.approx([0.1, 0.5, 1.0, 2.0])


def test_the_form_that_ships_holds_what_was_asked_of_closed_loops() -> None:
    """Source and configuration both unseen, in the table that ships: of rows, most of which are of a few sources that
    are predicted well, more than 80 %; of configurations, which count alike there whoever measured them, fewer."""
    compared = json.loads((DATA_DIR / "accuracy.json").read_text(encoding="utf-8"))["forms"]
    held = {(r["mode"], r["metric"], r["form"]): r for r in compared}
    for metric in INTERVAL_METRICS:
        one = held["fixed_concurrency", metric, shipped(f"{metric}, fixed_concurrency")]
        assert 78 <= one["inside_80_pct"] <= 95, metric
        assert 65 <= one["inside_80_by_configuration_pct"] <= 90, metric


def test_the_form_that_ships_holds_what_was_asked_of_runs_at_their_limits() -> None:
    compared = json.loads((DATA_DIR / "accuracy.json").read_text(encoding="utf-8"))["forms"]
    held = {r["form"]: r["inside_80_pct"] for r in compared if r["mode"] == AT_LIMITS}
    assert set(held) == set(FORMS)
    assert 78 <= held[CAPACITY] <= 86.5, "80 % of 147 independent runs are 73.5 to 86.5 % by chance"


def test_random_effects_add_both_variances() -> None:
    """Means 1 and 5: within 2, between 8 - 2 / 2 = 7, sqrt(7 x 1.5 + 2) = 3.536; t(0.9, 1) = 3.078."""
    found = ends(random_effects, [0.0, 2.0, 4.0, 6.0], ["a", "a", "b", "b"], 0.1, 0.9)
    assert found == pytest.approx([3.0 - 3.5355 * 3.0777, 3.0 + 3.5355 * 3.0777], abs=1e-3)


def held_out(configurations: int, each: int) -> pd.DataFrame:
    """Errors of ``configurations`` of as many sources: one error each, and a third of it within."""
    random = np.random.default_rng(3)
    number = np.repeat(np.arange(configurations), each)
    error = 0.3 * random.normal(size=configurations)[number] + 0.1 * random.normal(size=len(number))
    labels = {name: [f"{name}{n}" for n in number] for name in ("source", "architecture")}
    return pd.DataFrame(
        {
            **labels,
            **dict.fromkeys((*DIFFICULTIES, *EXTRAPOLATIONS), 0.0),
            "new_configuration": 1.0,
            "metric": "itl",
            "mode": "fixed_concurrency",
            "id": [str(i) for i in range(len(number))],
            "error": error,
            "alone": error,
            "weight": 0.0,
            "derived": False,
            "gpu": "h100_sxm",
            "generation": "hopper",
            "engine": "vllm",
            "layout": "",
            "precision": "fp8",
            "scheme": UNSEEN,
        }
    )


@pytest.mark.parametrize("form", ["group-wise conformal", "random effects"])
def test_four_in_five_new_configurations_lie_inside(form: str) -> None:
    """80 configurations of 12 rows, each judged by the other 79: within three standard errors, 0.4 / sqrt(80) each."""
    found = inside(checked(held_out(80, 12), (80,), form, (UNSEEN,)), 80)
    assert found.mean() == pytest.approx(0.8, abs=0.134)
