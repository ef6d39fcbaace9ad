"""How inputs move an answer: on a market with a price formula that can be worked out by hand, and on real plans."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from sizing.base.errors import InvalidScenario, SizingError
from sizing.base.result import MadeFor, Plan
from sizing.catalog import gpus
from sizing.decision.added_up import comparison_added_up
from sizing.decision.columns import ComparisonColumn, columns
from sizing.decision.comparison import Compared, Comparison, Driver, compare
from sizing.decision.flips import NEAR, flips
from sizing.decision.inputs import inputs_of, sizing_inputs
from sizing.decision.keys import values_of, with_values
from sizing.decision.outcome import NOTHING, Answers, Outcome
from sizing.decision.promises import cheaper_with_more_gpus, promises, saved
from sizing.decision.text import as_markdown, as_text, driver_sentence, gpu_change, in_words, undercut_sentence
from sizing.decision.tornado import swing, tornado, two_inputs
from sizing.economics.cost import cost
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from sizing.scenario import Scenario
from tests.sizing.asking import raw
from ui.currency import DOLLARS

LLAMA = "meta-llama/Meta-Llama-3-8B-Instruct"


def asked(name: str = "base", **workload: Any) -> Scenario:
    """10 requests/s of 1,000 and 100 tokens on H100s."""
    load = {"input_tokens": 1000.0, "output_tokens": 100.0, "peak_rps": 10.0} | workload
    return Scenario.model_validate(
        {
            "name": name,
            "model": LLAMA,
            "workload": load,
            "limits": {"ttft_ms": 2000, "itl_ms": 50},
            "deployment": {"gpus": ["h100_sxm"]},
        }
    )


class Market(Answers):
    """Answers by a formula instead of plans; counts how many were asked for."""

    def __init__(self, usd: Callable[[Scenario], float | None], gpu: Callable[[Scenario], str] = lambda _: "a") -> None:
        super().__init__()
        self._usd, self._gpu, self.count = usd, gpu, 0

    def answer(self, scenario: Scenario) -> Answer:
        """None is made: nothing is bought that has a price of its own."""
        nothing = Plan.model_construct(deployment=None, cost=None)
        return Answer(understand(scenario), nothing.marked(MadeFor(scenario)))

    def outcome(self, scenario: Scenario) -> Outcome:
        self.count += 1
        usd = self._usd(scenario)
        if usd is None:
            return NOTHING
        gpu = self._gpu(scenario)
        known = {"feasible": True, "gpu": gpu, "gpu_name": gpus()[gpu].name if gpu in gpus() else gpu}
        known |= {"gpus": round(usd / 100.0), "systems": 1}
        return NOTHING.model_copy(update={**known, "usd_per_month": usd})


def tokens(scenario: Scenario) -> float:
    """Requests/s x tokens of prompt and answer."""
    load = scenario.workload
    assert isinstance(load.input_tokens, float)
    assert isinstance(load.output_tokens, float)
    return float(load.peak_rps or 0.0) * (load.input_tokens + load.output_tokens)


def test_a_key_is_set_and_removed() -> None:
    base = asked()
    moved = with_values(base, {"workload.peak_rps": None, "workload.average_rps": 5.0, "limits.e2e_ms": 9000.0})
    assert (moved.workload.peak_rps, moved.workload.average_rps, moved.limits.e2e_ms) == (None, 5.0, 9000.0)
    assert values_of(moved)["limits.e2e_ms"] == 9000.0
    assert "workload.peak_rps" not in values_of(moved)


def test_values_that_cannot_stand_together_are_no_scenario() -> None:
    assert with_values(asked(), {"workload.average_rps": 3.0}) is None
    assert with_values(asked(prefix_cached_tokens=900.0), {"workload.input_tokens": 800.0}) is None


def test_all_percentiles_of_a_length_move_together() -> None:
    base = asked(input_tokens={"p50": 1000.0, "p95": 3000.0})
    prompt = next(one for one in inputs_of(base) if one.key == "workload.input_tokens")
    moved = prompt.moved(base, 1200.0)
    lengths = moved.workload.input_tokens
    assert not isinstance(lengths, float)
    assert lengths.model_dump() == {"p50": 1200.0, "p95": 3600.0}


def test_the_tornado_is_worked_out_by_hand() -> None:
    """Cost = 10 x (1000 + 100) = 11,000. Load +-20 %: 8,800 to 13,200, swing 4,400; prompts: 10 x 200 to both sides,
    4,000; answers: 10 x 20, 400; limits move nothing."""
    market = Market(tokens)
    drawn = tornado(asked(), market)
    by_key = {bar.key: swing(bar, drawn.base) for bar in drawn.bars}
    assert drawn.base.usd_per_month == 11_000
    assert [bar.key for bar in drawn.bars][:3] == [
        "workload.peak_rps",
        "workload.input_tokens",
        "workload.output_tokens",
    ]
    assert [by_key[key] for key in list(by_key)[:3]] == pytest.approx([4400, 4000, 400])
    assert by_key["limits.ttft_ms"] == 0.0


def test_an_end_that_nothing_serves_comes_first() -> None:
    market = Market(lambda s: None if (s.limits.ttft_ms or 0) < 1700 else tokens(s))
    assert tornado(asked(), market).bars[0].key == "limits.ttft_ms"


def test_progress_is_told_before_each_input() -> None:
    seen: list[tuple[int, int]] = []
    tornado(asked(), Market(tokens), lambda done, of: seen.append((done, of)))
    assert [done for done, _ in seen] == list(range(len(inputs_of(asked()))))


def test_a_flip_is_found_within_two_percent() -> None:
    """Above 14 requests/s another GPU is the best, and below a TTFT limit of 900 ms."""
    market = Market(tokens, lambda s: "b" if (s.workload.peak_rps or 0) > 14 or (s.limits.ttft_ms or 0) < 900 else "a")
    by_key = {flip.key: flip for flip in flips(asked(), market).nearest}
    assert set(by_key) == {"workload.peak_rps", "limits.ttft_ms"}
    assert 14.0 < by_key["workload.peak_rps"].at <= 14.0 * NEAR
    assert 900.0 / NEAR <= by_key["limits.ttft_ms"].at < 900.0
    assert by_key["workload.peak_rps"].after.gpu == "b"


def test_a_bounded_search_looks_at_so_many_values_and_says_how_far_it_came() -> None:
    market = Market(tokens, lambda s: "b" if (s.workload.peak_rps or 0) > 14 else "a")
    full = flips(asked(), market)
    inputs, market.count = sizing_inputs(asked()), 0
    bounded = flips(asked(), market, most=5, near=1.06)
    ends = sum((one.low != one.value) + (one.high != one.value) for one in inputs)
    assert market.count <= 1 + ends + 5
    assert {flip.key for flip in bounded.nearest} <= {flip.key for flip in full.nearest}
    assert not all(one.all for one in bounded.unmoved)
    assert all(one.all for one in full.unmoved)
    assert all(flip.unchanged <= 14 < flip.at for flip in (*bounded.nearest, *full.nearest))
    wide = flips(asked(), market, most=0).unmoved
    assert {(one.key, one.to) for one in wide} <= {(one.key, end) for one in inputs for end in (one.low, one.high)}


def test_two_inputs_have_the_scenario_in_the_middle() -> None:
    drawn = two_inputs(asked(), "workload.peak_rps", "workload.output_tokens", Market(tokens))
    assert drawn.x[2] == pytest.approx(10.0)
    assert drawn.y[2] == pytest.approx(100.0)
    assert (drawn.x[0], drawn.x[-1]) == pytest.approx((5.0, 20.0))
    corner = drawn.outcomes[-1][-1]
    assert corner.usd_per_month == pytest.approx(20 * (1000 + 200))
    with pytest.raises(SizingError, match=r"limits\.e2e_ms cannot be moved"):
        two_inputs(asked(), "limits.e2e_ms", "workload.peak_rps", Market(tokens))


def test_drivers_are_shapley_values_worked_out_by_hand() -> None:
    """Cost = rps x (in + out). From (10, 1000) to (20, 2000), answers of 100: 11,000 to 42,000. Load first adds 11,000,
    then prompts 20,000; prompts first add 10,000, then load 21,000. Load: (11 + 21) / 2 = 16,000, prompts 15,000."""
    market = Market(tokens)
    other = asked("other", peak_rps=20.0, input_tokens=2000.0)
    comparison = compare([asked(), other], market)
    one = comparison.scenarios[1]
    assert one.usd_more == 31_000
    assert one.exact
    assert [(d.key, d.usd_per_month) for d in one.drivers] == [
        ("workload.peak_rps", 16_000),
        ("workload.input_tokens", 15_000),
    ]
    assert sum(d.usd_per_month or 0.0 for d in one.drivers) == one.usd_more
    assert {d.key for d in comparison.differences} == {"workload.peak_rps", "workload.input_tokens"}
    assert "$16k of it comes with peak load, the rest with the other input" in driver_sentence(one, "base")


@pytest.mark.parametrize(
    ("whole", "part", "words"),
    [
        (31_000.0, 16_000.0, "$31k a month more than base; $16k of it comes with peak load"),
        (-31_000.0, -16_000.0, "$31k a month less than base; $16k of it comes with peak load"),
        (-2_000.0, 5_000.0, "$2,000 a month less than base; $5,000 more comes with peak load"),
        (2_000.0, -5_000.0, "$2,000 a month more than base; $5,000 less comes with peak load"),
    ],
)
def test_what_an_input_brings_is_told_without_a_sign(whole: float, part: float, words: str) -> None:
    drivers = tuple(
        Driver(key=key, usd_per_month=usd, gpus=None)
        for key, usd in (("workload.peak_rps", part), ("workload.input_tokens", whole - part))
    )
    outcome = NOTHING.model_copy(update={"feasible": True})
    one = Compared(name="other", outcome=outcome, usd_more=whole, gpus_more=None, drivers=drivers, exact=True)
    assert words in driver_sentence(one, "base")


@pytest.mark.parametrize(
    ("usd_more", "gpus_more", "sentence"),
    [
        (0.0, 4, "other: costs as much as base, with 4 more GPUs in use."),
        (0.2, 0, "other: costs as much as base."),
        (-0.2, -1, "other: costs as much as base, with 1 fewer GPU in use."),
        (None, 0, "other: needs as many GPUs as base."),
    ],
)
def test_no_difference_is_not_called_more(usd_more: float | None, gpus_more: int, sentence: str) -> None:
    one = compare([asked(), asked("other", peak_rps=20.0)], Market(tokens)).scenarios[1]
    same = one.model_copy(update={"usd_more": usd_more, "gpus_more": gpus_more})
    assert driver_sentence(same, "base") == sentence


def test_many_differences_are_swapped_one_at_a_time() -> None:
    other = asked("other", peak_rps=20.0, input_tokens=2000.0, output_tokens=200.0)
    changed = with_values(other, {"limits.ttft_ms": 3000.0, "limits.itl_ms": 60.0})
    assert changed is not None
    one = compare([asked(), changed], Market(tokens)).scenarios[1]
    assert not one.exact
    assert len(one.drivers) == 5
    # load alone into the first 11,000, out of the other 20 x 2200 - 10 x 2200 = 22,000: mean 16,500
    assert one.drivers[0].usd_per_month == 16_500


def test_mixtures_that_nothing_serves_leave_the_driver_open() -> None:
    market = Market(lambda s: None if s.workload.peak_rps == 20 and s.workload.input_tokens == 1000 else tokens(s))
    comparison = compare([asked(), asked("other", peak_rps=20.0, input_tokens=2000.0)], market)
    assert comparison.scenarios[1].drivers[0].usd_per_month is None
    assert "cannot be told" in as_text(comparison)


@pytest.mark.parametrize("number", [1, 6])
def test_two_to_five_are_compared(number: int) -> None:
    with pytest.raises(InvalidScenario, match="Two to 5 scenarios"):
        compare([asked()] * number, Market(tokens))


def test_names_cannot_break_the_markdown() -> None:
    comparison = compare([asked("a|b <script>"), asked("x", peak_rps=20.0)], Market(tokens))
    assert "a\\|b \\<script\\>" in as_markdown(comparison)


def test_real_plans_agree_with_plan_and_cost() -> None:
    """What an outcome says of the base is what plan and cost say, and a plan is made once for all constants of cost."""
    made: list[Scenario] = []

    def planner(scenario: Scenario) -> Any:
        made.append(scenario)
        return analytic_plan(scenario, alternatives=0)

    base = asked(peak_rps=300.0)
    drawn = tornado(base, Answers(planner))
    plan = analytic_plan(base)
    money = cost(Answer(understand(base), plan))
    assert (drawn.base.gpus, drawn.base.usd_per_month) == (plan.deployment.gpus, money.usd_per_month)
    assert (drawn.base.low, drawn.base.high) == (money.low, money.high)
    power = next(bar for bar in drawn.bars if bar.key == "costs.electricity_usd_per_kwh")
    share = money.parts["power"] * (power.high / power.value - 1.0)
    assert power.at_high.usd_per_month == pytest.approx(money.usd_per_month + share)
    bought = next(bar for bar in drawn.bars if bar.key == "prices.system_usd")
    assert bought.value == plan.cost.system_usd
    follow = ("servers", "switches", "storage", "support", "capital_charge")  # the price of a server
    dearer = sum(money.parts[name] for name in follow) * (bought.high / bought.value - 1.0)
    assert bought.at_high.usd_per_month == pytest.approx(money.usd_per_month + dearer)
    sizing = sum(not one.key.startswith("costs.") for one in inputs_of(base))
    assert len(made) <= 1 + 2 * (sizing + 1)


def test_columns_at_one_click_are_one_change_each() -> None:
    scenario = Scenario.model_validate(raw(LLAMA, deployment={"gpus": ["h100_sxm", "l40s"]}))
    answer = Answer.of(scenario, analytic_plan)
    offered = columns(answer)
    assert {ComparisonColumn(load=2.0), ComparisonColumn(location="cloud")} <= set(offered)
    assert any(one.gpu for one in offered)
    for one in offered:
        changed = one.scenario(answer)
        assert changed is not None
        before, after = values_of(scenario), values_of(changed)
        keys = [key for key in {*before, *after} if before.get(key) != after.get(key)]
        assert len(keys) == 1 or one.keep_hardware


def test_hardware_that_differs_in_several_keys_is_one_choice() -> None:
    """GPU and format are swapped together, at no plan beside the two that are compared."""
    market = Market(tokens)
    first = asked()
    other = ComparisonColumn(gpu="b200_sxm", precision="fp8", load=2.0).scenario(Answer.of(first, analytic_plan))
    assert other is not None
    apart = compare([first, other], market)
    assert {driver.key for driver in apart.scenarios[1].drivers} == {
        "deployment.gpus",
        "deployment.precisions",
        "workload.peak_rps",
    }
    together = compare([first, other], market, hardware_as_one=True)
    assert {driver.key for driver in together.scenarios[1].drivers} == {"deployment", "workload.peak_rps"}
    (load,) = (driver for driver in together.scenarios[1].drivers if driver.key == "workload.peak_rps")
    assert load.usd_per_month == together.scenarios[1].usd_more


def test_an_answer_of_a_known_plan_is_not_made_again() -> None:
    answers = Answers(partial(pytest.fail, "planned again"))
    plan = analytic_plan(asked())
    answers.knows(Answer(understand(asked()), plan))
    assert answers.outcome(asked("another name")).gpus == (plan.deployment.gpus if plan.deployment else None)


def test_a_dearer_choice_by_the_price_of_hardware_alone_is_explained() -> None:
    """The plan takes GPU a, which is cheaper to buy; asked for alone, b costs less with its power."""

    class ByPrice(Market):
        def outcome(self, scenario: Scenario) -> Outcome:
            known = super().outcome(scenario)
            b = scenario.deployment.gpus == ("b200_sxm",) or list(scenario.deployment.gpus) == ["b200_sxm"]
            gpu = "b200_sxm" if b else "mi300x"
            named = {"gpu": gpu, "gpu_name": gpus()[gpu].name}
            return known.model_copy(update=named | {"usd_per_month": 8.0 if b else 9.0})

    def on(*names: str) -> Scenario:
        return asked().model_copy(update={"deployment": asked().deployment.model_copy(update={"gpus": list(names)})})

    every, alone = on(), on("b200_sxm")
    market = ByPrice(tokens)
    assert undercut_sentence(compare([every, alone], market)).startswith("B200 SXM 180GB (HGX/DGX) costs less here")
    assert undercut_sentence(compare([alone, every], market)) == ""
    assert undercut_sentence(compare([on("mi300x"), alone], market)) == ""
    smaller = alone.model_copy(update={"workload": asked(peak_rps=5.0).workload})
    assert undercut_sentence(compare([every, smaller], market)) == ""


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
