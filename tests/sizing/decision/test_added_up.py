"""Costs beside their differences: what is shown adds up."""

import pytest

from sizing.decision.added_up import comparison_added_up
from sizing.decision.comparison import Compared, Comparison
from sizing.decision.outcome import NOTHING
from ui.currency import DOLLARS


def costing(name: str, usd_per_month: float | None) -> Compared:
    outcome = NOTHING.model_copy(update={"feasible": True, "usd_per_month": usd_per_month})
    return Compared(name=name, outcome=outcome, usd_more=None, gpus_more=None, drivers=(), exact=True)


@pytest.mark.parametrize(
    ("first", "other", "shown"),
    [
        (2_944.0, 1_326.0, (2_940, 1_330, -1_610)),  # each to three digits, they would differ by $1,620
        (12_340.0, 1_337.0, (12_300, 1_340, -10_960)),
        (1_234_000.0, 1_244_900.0, (1_234_000, 1_245_000, 11_000)),  # three digits would hide a tenth of it
        (11_876.18, 11_878.43, (11_900, 11_900, 0)),  # no month's cost is known to a dollar
        (11_949.0, 11_951.0, (11_900, 11_900, 0)),  # each to three digits, they would differ by $100
        (5_000.0, 5_000.2, (5_000, 5_000, 0)),
        (None, 5_004.0, (None, 5_000, None)),
    ],
)
def test_costs_and_their_difference_add_up(first: float | None, other: float, shown: tuple[float | None, ...]) -> None:
    exact = Comparison(differences=(), scenarios=(costing("base", first), costing("other", other)))
    base, one = comparison_added_up(exact).scenarios
    assert (base.outcome.usd_per_month, one.outcome.usd_per_month, one.usd_more) == shown


def test_a_difference_is_written_with_all_its_digits() -> None:
    assert [DOLLARS.in_full(cost) for cost in (12_300.0, 1_340.0, 10_960.0)] == ["$12.3k", "$1,340", "$10.96k"]
