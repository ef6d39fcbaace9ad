"""What each promise costs, in money and in GPUs, on a market that can be worked out by hand."""

import pytest

from sizing.decision.outcome import NOTHING, Outcome
from sizing.decision.promises import cheaper_with_more_gpus, promises, saved
from sizing.decision.text import gpu_change, in_words
from sizing.scenario import Scenario
from tests.sizing.decision.test_decision import Market, asked, tokens


def test_a_promise_shows_what_it_costs() -> None:
    """An ITL limit below 60 ms doubles the cost: relaxed to 1.25 x 50 = 62.5 ms, it saves 11,000."""
    market = Market(lambda s: tokens(s) * (2.0 if (s.limits.itl_ms or 1e9) < 60 else 1.0))
    first = promises(asked(), market)[0]
    assert (first.key, first.relaxed, first.usd_saved, first.gpus_saved) == ("limits.itl_ms", 62.5, 11_000, 110)
    assert {one.key for one in promises(asked(), market)} == {"limits.ttft_ms", "limits.itl_ms", "limits.percentile"}


def test_a_promise_that_saves_money_with_more_gpus_says_so() -> None:
    """A relaxed TTFT limit: 16 GPUs at 500 instead of 8 at 1,250 a month, 10,000 - 8,000 = 2,000 saved. A relaxed ITL
    limit: 8 less 2 GPUs, 10,000 - 9,000 = 1,000 saved. Money decides the order, not the GPUs."""

    class Types(Market):
        def outcome(self, scenario: Scenario) -> Outcome:
            limits = scenario.limits
            slow, choppy = limits.ttft_ms != 2000, limits.itl_ms != 50
            gpus, usd = (16, 8_000.0) if slow else (6, 9_000.0) if choppy else (8, 10_000.0)
            known = {"feasible": True, "gpu": "b" if slow else "a", "gpus": gpus, "systems": 1, "usd_per_month": usd}
            return NOTHING.model_copy(update=known)

    relaxed = promises(asked(), Types(tokens))
    first, later = relaxed[0], next(one for one in relaxed if one.key == "limits.itl_ms")
    assert (first.key, first.usd_saved, gpu_change(first.gpus_saved)) == ("limits.ttft_ms", 2_000, "8 more")
    assert (later.usd_saved, gpu_change(later.gpus_saved)) == (1_000, "2 fewer")
    assert (saved(first), saved(first, in_money=False)) == (2_000, -8)
    assert cheaper_with_more_gpus(relaxed)
    assert not cheaper_with_more_gpus([later])


def test_an_answer_is_called_as_people_call_it() -> None:
    named = {"gpu": "l40s", "gpu_name": "L40S 48GB"}
    known = named | {"feasible": True, "precision": "fp8", "gpus": 4, "systems": 1, "usd_per_month": 1_110.0}
    assert in_words(NOTHING.model_copy(update=known)) == "4 x L40S 48GB, FP8 (W8A8), $1,110 a month"
    unlisted = known | {"gpu": "own", "gpu_name": "Next Chip", "precision": "odd"}
    assert in_words(NOTHING.model_copy(update=unlisted)) == "4 x Next Chip, odd, $1,110 a month"


@pytest.mark.parametrize(("fewer", "text"), [(4, "4 fewer"), (-1_200, "1,200 more"), (0, "as many"), (None, "")])
def test_a_change_in_gpus_is_a_word_not_a_sign(fewer: int | None, text: str) -> None:
    assert gpu_change(fewer) == text
