"""One-click fixes, choosing a deployment, lengths in other units, and the way back."""

from streamlit.testing.v1 import AppTest

from sharing.form.link_versions import LINK_VERSION
from sharing.form.presets import defaults
from sharing.form.write import changed, from_scenario, with_change
from sizing.base.result import Fix
from sizing.scenario import Scenario
from tests.app.conftest import MORE, OpenLink, with_every_field
from tests.app.pages_text import answer, figure, problems


def test_fix_changes_the_form_and_the_answer(size: AppTest) -> None:
    fixes = [b for b in size.button if (b.key or "").startswith("fix_")]
    assert fixes, "the default scenario has a warning with a fix"
    before, said = values_of(size), answer(size)
    fixes[0].click().run()
    assert not size.exception
    assert values_of(size) != before
    assert answer(size) != said


def test_one_click_considers_what_the_defaults_left_out(open_link: OpenLink) -> None:
    size = open_link(model="Qwen/Qwen3-32B", rps="0.05", isl="2000", osl="200", ttft="60 s", itl="500", gpu="l4")
    assert any("A cheaper plan was left out" in element.value for element in size.markdown)
    before = size.session_state["last_answer"].plan
    size.button(key="fix_left_out").click().run()
    assert not size.exception
    assert size.query_params["accurate"] == "false"
    assert size.session_state["last_answer"].plan.cost.hardware_usd_per_month < before.cost.hardware_usd_per_month
    assert not any(b.key == "fix_left_out" for b in size.button)


def values_of(size: AppTest) -> dict[str | None, object]:
    """What every field of the form holds."""
    return {w.key: w.value for kind in ("text_input", "multiselect", "toggle") for w in size.get(kind)}


def test_use_this_restricts_the_form_and_consider_all_takes_it_back(size: AppTest) -> None:
    size.session_state["view"] = "Throughput or latency"
    size.run()
    size.button(key="use_trade").click().run()
    assert not size.exception
    assert len(size.multiselect(key="gpu").value) == 1
    assert len(size.multiselect(key="tp").value) == 1
    assert size.query_params["tp"]
    size.button(key="all_hardware").click().run()
    assert size.multiselect(key="gpu").value == []
    assert size.multiselect(key="prec").value == defaults()["prec"], "formats that cost accuracy are not let in"
    assert size.query_params == {"v": LINK_VERSION, "view": "Throughput or latency"}


def test_the_latency_of_more_gpus_can_be_asked_for(size: AppTest) -> None:
    """A larger step of the slider is planned, by its E2E as a limit: the load alone needs fewer instances."""
    size.session_state["view"] = "Throughput or latency"
    size.run()
    size.session_state["trade_step"] = 2
    size.run()
    before = int(figure(size, "GPUs"))
    assert not any(b.key == "use_trade" for b in size.button)
    size.button(key="ask_trade").click().run()
    assert not size.exception
    assert int(size.text_input(key="e2e").value) > 0
    assert len(size.multiselect(key="gpu").value) == 1
    assert int(figure(size, "GPUs")) > before
    assert not problems(size)


def test_words_are_converted_to_tokens(size: AppTest) -> None:
    size.text_input(key="isl").set_value("750").run()
    size.selectbox(key="unit").select("words").run()
    assert any(c.value.startswith("1,000 tokens in") for c in size.caption)
    assert not problems(size)


def test_prompt_is_built_from_its_parts(size: AppTest) -> None:
    size.toggle(key="compose").set_value(True).run()
    size.text_input(key="docs").set_value("4").run()
    assert any("4 documents x 600" in c.value for c in size.caption)
    assert not problems(size)


def test_an_average_is_sized_for_and_its_burst_of_one_second_is_named(size: AppTest) -> None:
    size.session_state["load"] = "average"
    size.run()
    size.text_input(key="avg").set_value("64").run()
    assert "64 requests/s on average" in answer(size)
    assert "77 requests/s" in answer(size)


def test_daily_users_give_a_peak(size: AppTest) -> None:
    size.session_state["load"] = "users"
    size.run()
    size.text_input(key="users").set_value("48,000").run()
    assert "10 requests/s" in answer(size)


def add_own_accelerator(size: AppTest) -> None:
    size.toggle(key="own").set_value(True).run()
    for key, text in {"own_mem": "192", "own_bw": "8000", "own_fp16": "2250", "own_name": "NextGen"}.items():
        size.text_input(key=key).set_value(text)
    size.run()


def test_own_accelerator_is_sized(size: AppTest) -> None:
    add_own_accelerator(size)
    size.multiselect(key="gpu").set_value(["own_accelerator"]).run()
    assert not size.exception
    assert not problems(size)
    assert "NextGen" in answer(size)
    assert "NextGen" in size.multiselect(key="gpu").options
    size.text_input(key="own_name").set_value("Another One").run()
    assert size.session_state["gpu"] == ["own_accelerator"]
    assert "Another One" in size.multiselect(key="gpu").options
    assert "Another One" in answer(size)


def test_a_choice_of_gpus_that_leaves_an_accelerator_out_says_so(size: AppTest) -> None:
    add_own_accelerator(size)
    size.multiselect(key="gpu").set_value(["h100_sxm"]).run()
    assert any("NextGen is left out" in caption.value for caption in size.caption)
    size.button(key="own_too").click().run()
    assert size.multiselect(key="gpu").value == ["h100_sxm", "own_accelerator"]
    assert not any("is left out" in caption.value for caption in size.caption)


def test_a_scenario_is_named_while_it_is_saved(size: AppTest) -> None:
    size.text_input(key="save_name").set_value("Bank of Elsewhere").run()
    assert not size.exception
    assert size.session_state["name"] == "Bank of Elsewhere"
    assert any("Bank of Elsewhere" in m.value for m in size.markdown)


def test_name_is_on_the_chip(size: AppTest) -> None:
    size.text_input(key="name").set_value("Bank of Elsewhere").run()
    assert any("Bank of Elsewhere" in m.value for m in size.markdown)


def test_fix_of_a_rate_replaces_the_other_ways_to_say_the_load() -> None:
    scenario = Scenario.model_validate(
        {"model": "m", "workload": {"input_tokens": 1, "output_tokens": 1, "users": {"daily_users": 100}}}
    )
    fix = Fix(key="workload.peak_rps", value=5.0, label="5 requests/s")
    after = from_scenario(with_change(scenario, fix.key, fix.value))
    assert changed(from_scenario(scenario), after)["rps"] == "5"
    assert after["load"] == "rps"


def test_limit_survives_a_visit_to_another_page(size: AppTest) -> None:
    size.text_input(key="ttft").set_value("750").run()
    size.switch_page("pages/methodology.py").run()
    size.switch_page("pages/size.py").run()
    assert size.text_input(key="ttft").value == "750"
    assert figure(size, "GPUs")


def test_what_few_change_is_drawn_once_it_is_opened_and_kept_when_closed(app: AppTest) -> None:
    page = app.switch_page("pages/size.py").run()
    closed = {one.key for one in page.text_input}
    assert {"isl", "osl", "rps", "ttft", "itl"} <= closed
    assert not {"growth", "name", "pct", "batch", "util"} & closed
    with_every_field(page)
    opened = {one.key for one in page.text_input}
    assert {"growth", "name", "pct", "batch", "util"} <= opened
    page.text_input(key="util").set_value("70")
    page.text_input(key="name").set_value("Kept").run()
    for key in MORE:
        page.session_state[key] = False
    page.run()
    assert {one.key for one in page.text_input} == closed
    page.text_input(key="osl").set_value("300").run()  # another run without them
    for other in ("live", "compare", "size"):  # and pages without and with the form
        page.switch_page(f"pages/{other}.py").run()
    with_every_field(page)
    assert (page.text_input(key="util").value, page.text_input(key="name").value) == ("70", "Kept")
