"""Explore without a browser: every preset, every view, bad input, and the scenario shared with Size."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from sharing.form.link import from_parameters, to_parameters
from sharing.form.presets import defaults, presets
from sharing.form.problems import UnreadableInput
from sharing.form.read import to_scenario
from sharing.form.write import from_scenario
from sizing import Scenario, plan
from sizing.base.deployed import Deployed
from sizing.base.errors import SizingError
from sizing.base.result import Excluded
from sizing.explore.frontier import operating_points
from sizing.explore.operating_point import OperatingPoint
from sizing.explore.pinned import pinned_to
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.app.conftest import APP, started
from tests.app.pages_text import answer, plain, problems
from tests.patience import PATIENCE_S
from ui.explore.controls import X_LABELS, Y_LABELS, leading_gpus
from ui.explore.frontier import clicked
from ui.explore.serves import read_amount
from ui.figures.template import hardware_look
from ui.state import plan_of

PAGE = "pages/explore.py"
VIEWS = ("Latency against throughput", "Load curve", "Lengths", "What can this serve?", "Shared pool")

SOME = 12
"""Configurations that are planned, of all that a chart holds."""


@pytest.fixture
def explore(app: AppTest) -> AppTest:
    return app.switch_page(PAGE).run()


def show(app: AppTest, view: str, **state: object) -> AppTest:
    app.session_state["show"] = view
    for key, value in state.items():
        app.session_state[key] = value
    return app.run()


SOON = ("chatbot", "rag", "batch")
"""Presets whose views are drawn at once, a shared prefix and offline work among them; the others are slow."""


@pytest.mark.parametrize(
    "preset", [pytest.param(name, marks=[] if name in SOON else pytest.mark.slow) for name in presets()]
)
def test_every_view_shows_every_preset(app: AppTest, preset: str) -> None:
    app.button(key=f"open_{preset}").click().run()
    app.switch_page(PAGE).run()
    for view in VIEWS:
        show(app, view)
        assert not app.exception, f"{view}: {app.exception[0].message}"
        assert not problems(app), view
        assert answer(app)


def test_a_link_is_read_and_the_address_keeps_it() -> None:
    app = started(goto="explore", isl="3500", gpu=["H100 SXM5 80GB"], name="By link")
    assert not app.exception
    assert " x H100" in answer(app)
    assert any("By link" in m.value for m in app.markdown)


def test_inputs_are_those_of_size_both_ways(size: AppTest) -> None:
    size.text_input(key="ttft").set_value("750").run()
    size.selectbox(key="usd_of").set_value("dgx_h100")
    size.text_input(key="usd_system").set_value("123456").run()
    size.switch_page(PAGE).run()
    assert size.text_input(key="ttft").value == "750"
    assert size.text_input(key="usd_system").value == "123456", "no link carries it"
    size.text_input(key="osl").set_value("99").run()
    size.switch_page("pages/size.py").run()
    assert size.text_input(key="osl").value == "99"


@pytest.mark.parametrize("x", list(X_LABELS))
@pytest.mark.parametrize("y", list(Y_LABELS))
def test_every_pair_of_axes_is_drawn(explore: AppTest, x: str, y: str) -> None:
    show(explore, VIEWS[0], x=x, y=y, lines="width", range="all")
    assert not explore.exception


def test_gpus_can_be_chosen(explore: AppTest) -> None:
    explore.multiselect(key="shown").set_value(["h100_sxm", "l4"]).run()
    assert not explore.exception


def test_a_table_and_a_csv_come_with_every_chart(explore: AppTest) -> None:
    for view, key in (("Latency against throughput", "frontier"), ("Load curve", "load"), ("Lengths", "lengths")):
        show(explore, view, **{f"{key}_table": True})
        if view == "Lengths":  # planned beside the page
            explore.session_state["length_map_job"].wait(PATIENCE_S)
            explore.run()
        assert len(explore.dataframe) == 1
        assert not explore.exception


def test_a_limit_nothing_meets_is_explored_all_the_same(explore: AppTest) -> None:
    explore.text_input(key="ttft").set_value("1").run()
    assert "within the limits" in problems(explore)[0]
    for view in VIEWS:
        show(explore, view)
        assert not explore.exception, view
    explore.button(key="relax_0").click().run()
    assert not problems(explore)


def test_bad_input_is_one_sentence_and_the_last_answer_stays(explore: AppTest) -> None:
    before = answer(explore)
    explore.text_input(key="isl").set_value("abc").run()
    assert problems(explore) == ["Prompt length: “abc” is not a number; enter a number of tokens, for example 3500."]
    assert answer(explore) == before
    assert not explore.exception


BAD_AMOUNTS = [
    ("gpus", "have_gpus", "", "GPUs is empty: enter a number, for example 16."),
    ("gpus", "have_gpus", "lots", "GPUs: “lots” is not a number; enter a number, for example 16."),
    ("gpus", "have_gpus", "1.5", "GPUs must be a whole number; 1.5 was entered."),
    ("gpus", "have_gpus", "-3", "GPUs must be more than 0 and at most 1,000,000; -3 was entered."),
    ("systems", "have_systems", "0", "Servers must be more than 0 and at most 100,000; 0 was entered."),
    ("kw", "have_kw", "much", "Power: “much” is not a number; enter a number, for example 20."),
    ("usd", "have_usd", "1e15", "Monthly budget must be more than 0 and at most 1,000,000,000,000; 1e15 was entered."),
]


@pytest.mark.parametrize(("what", "key", "typed", "sentence"), BAD_AMOUNTS)
def test_bad_hardware_is_one_sentence(explore: AppTest, what: str, key: str, typed: str, sentence: str) -> None:
    show(explore, "What can this serve?", have=what)
    explore.text_input(key=key).set_value(typed).run()
    assert problems(explore) == [sentence]
    assert not explore.exception


def test_amounts_are_read_as_people_type_them() -> None:
    assert read_amount("$50k", "usd") == 50_000
    assert read_amount("16", "gpus") == 16
    with pytest.raises(UnreadableInput):
        read_amount("nan", "gpus")


def test_hardware_serves_a_load_and_says_how_far_it_can_be_pushed(explore: AppTest) -> None:
    show(explore, "What can this serve?", serve_gpu="h100_sxm")
    explore.text_input(key="have_gpus").set_value("8").run()
    told = [m.value for m in explore.markdown if "8 GPUs serve up to" in plain(m.value)]
    assert told
    assert any("carry the peak with prompts of up to" in m.value for m in explore.markdown)
    assert next(m.value for m in explore.metric if m.label == "Requests/s")


def test_who_has_servers_is_led_from_size_to_what_they_serve(explore: AppTest) -> None:
    explore.switch_page("pages/size.py").run()
    explore.button(key="servers_given").click().run()
    assert explore.session_state["have"] == "systems"
    assert any("serves up to" in m.value for m in explore.markdown)
    assert not explore.exception


def test_a_budget_too_small_for_a_system_is_said(explore: AppTest) -> None:
    show(explore, "What can this serve?", have="usd", serve_gpu="h100_sxm")
    explore.text_input(key="have_usd").set_value("100").run()
    assert any("cannot serve this scenario" in m.value for m in explore.markdown)
    assert not explore.metric


def test_a_pool_needs_two_workloads_and_takes_loads(explore: AppTest) -> None:
    show(explore, "Shared pool", pool=["this"])
    assert explore.info[0].value.endswith("two workloads or more.")
    show(explore, "Shared pool", pool=["this", "code"])
    assert any("workloads together" in m.value for m in explore.markdown)
    explore.text_input(key="pool_rps_code").set_value("never").run()
    assert problems(explore) == ["Code completion: “never” is not a number; enter a number, for example 10."]


def test_leading_gpus_have_a_look_each_and_start_with_the_plan() -> None:
    asked = presets()["chatbot"].scenario
    answered = plan(asked)
    leading = leading_gpus(Answer(understand(asked), answered))
    assert answered.deployment
    assert leading[0] == answered.deployment.gpu
    looks = {(look.colour, look.dash, look.symbol) for look in map(hardware_look, leading)}
    assert len(looks) == len(leading)


def test_leading_gpus_of_limits_nothing_meets_are_the_nearest() -> None:
    asked = presets()["chatbot"].scenario
    asked = asked.model_copy(update={"limits": asked.limits.model_copy(update={"ttft_ms": 1.0})})
    answered = plan(asked)
    nearest: list[Excluded] = [e for e in answered.excluded if e.fix]
    assert leading_gpus(Answer(understand(asked), answered))[0] in {e.gpu for e in nearest}


def test_a_click_names_its_point_and_other_marks_none() -> None:
    shown = operating_points(presets()["chatbot"].scenario, gpus=["h100_sxm"])
    assert clicked(shown, [{"customdata": [0, 0, 2]}]) == shown.curves[0].points[2]
    assert clicked(shown, [{"customdata": [0, 1, 0]}]) == shown.curves[0].beyond[0]
    assert clicked(shown, [{"x": 1.0}]) is None
    assert clicked(shown, []) is None


def test_the_page_is_thin() -> None:
    assert len((Path(APP).parent / PAGE).read_text().splitlines()) <= 20


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
