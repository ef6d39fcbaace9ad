"""Links: short, stable, complete, and without prices."""

import ast
from pathlib import Path
from urllib.parse import parse_qs, urlparse, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from sharing.form.choices import labels
from sharing.form.fields import FIELDS
from sharing.form.link import from_parameters
from sharing.links.live import live_link
from sizing import Scenario
from tests.app.conftest import OpenLink
from tests.app.pages_text import answer, figure, problems
from ui.state import LINK_VERSION, defaults

ROOT = Path(__file__).parents[2]

CASE_1 = {
    "model_by": "Size",
    "size_name": "NeMo 43B GPT",
    "size_b": "43",
    "isl": "3500",
    "osl": "500",
    "rps": "31",
    "ttft": "3000",
    "itl": "",
    "pct": "90",
    "gpu": ["H100 SXM5 80GB"],
    "meas": "true",
    "m_sys": "DGX H100",
    "m_rps": "2.4",
    "m_ttft": "2606",
    "m_itl": "21.4",
    "name": "Case 1",
}


def test_link_fills_in_every_kind_of_field(open_link: OpenLink) -> None:
    app = open_link(**CASE_1)
    assert not app.exception
    assert figure(app, "Systems") == "13"
    assert app.multiselect(key="gpu").value == ["h100_sxm"]
    assert app.text_input(key="itl").value == ""


def test_link_of_the_page_gives_the_page(open_link: OpenLink) -> None:
    shown = open_link(**CASE_1, view="Export")
    link = parse_qs(urlparse(shown.code[0].value).query, keep_blank_values=True)
    assert link == {
        key: value if isinstance(value, list) else [value] for key, value in (CASE_1 | {"v": LINK_VERSION}).items()
    }


def test_link_with_unknown_options_falls_back_to_the_defaults(open_link: OpenLink) -> None:
    app = open_link(load="Nonsense", gpu=["Abacus", "L40S 48GB"], view="Nowhere", mode="", unheard="of", is1="5")
    assert not app.exception
    assert figure(app, "GPUs")
    said = [w.value for w in app.warning]
    assert any("Load from: “Nonsense” is not one of the options".replace(":", "\\:") in text for text in said)
    assert any("Abacus" in text and "L40S" not in text for text in said)
    assert any("“is1” is no input; did it mean isl" in text for text in said)
    assert any("“unheard” is no input and was left out" in text for text in said)
    assert any("“Nowhere”, which is no tab here" in text for text in said)
    app.text_input(key="osl").set_value("150").run()
    assert not any("left out" in w.value for w in app.warning)


@pytest.mark.parametrize("page", ["scenarios", "methodology", "home"])
def test_a_page_without_the_form_names_what_it_does_not_know(page: str, open_link: OpenLink) -> None:
    app = open_link(goto=page, unheard="of", isl="5")
    assert not app.exception
    said = [w.value for w in app.warning]
    assert any("“unheard” is no input and was left out" in text for text in said)
    assert not any("isl" in text for text in said)
    app.switch_page("pages/size.py").run()
    assert not any("unheard" in w.value for w in app.warning)


def test_a_benchmark_is_held_against_the_scenario_of_the_address(open_link: OpenLink) -> None:
    app = open_link(goto="benchmarks", isl="3500", name="Case 1", unheard="of")
    assert not app.exception
    assert app.query_params == {"v": LINK_VERSION, "isl": "3500", "name": "Case 1"}
    assert any("“unheard” is no input and was left out" in w.value for w in app.warning)
    app.switch_page("pages/size.py").run()
    assert app.text_input(key="isl").value == "3500"


def parameters_of_pages() -> set[str]:
    """Keys of the widgets that say something else in the address than an input of the form."""
    keys = set()
    for path in (ROOT / "ui").rglob("*.py"):
        tree = ast.parse(path.read_text())
        texts = constants_of(tree)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            given = {k.arg: text_of(k.value, texts) for k in call.keywords}
            name = ast.unparse(call.func).rpartition(".")[2]
            if name == "linked":
                keys.add(text_of(call.args[0], texts))
            elif name == "draw_tabs" or (name == "draw_choice" and given.get("kept", "link") == "link"):
                keys.add(given["key"])
    return keys - {""}


def constants_of(tree: ast.Module) -> dict[str, str]:
    """The texts that a module has names for."""
    texts = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = zip(target.elts, value.elts, strict=True) if isinstance(target, ast.Tuple) else [(target, value)]
            texts |= {ast.unparse(name): text_of(text, {}) for name, text in pairs}
    return texts


def text_of(node: ast.expr, texts: dict[str, str]) -> str:
    """A text that stands there, or behind a name of the module; "" for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return texts.get(ast.unparse(node), "")


def test_parameters_of_tabs_and_axes_are_no_slips_of_the_pen() -> None:
    assert {"shown", "have", "x", "show", "view", "tab", "bench", "range", "scenario_from"} <= parameters_of_pages()
    held = {key: ["1"] for key in (*parameters_of_pages(), "v", "trace")}
    assert from_parameters(held).problems == ()


def test_prices_are_never_in_a_link(size: AppTest) -> None:
    size.selectbox(key="usd_of").set_value("dgx_h100")
    size.text_input(key="usd_system").set_value("123456").run()
    size.session_state["view"] = "Export"
    size.run()
    assert "123456" not in size.code[0].value
    assert "dgx_h100" not in size.code[0].value
    assert all(FIELDS[key].private for key in ("usd_of", "usd_system", "usd_gpu", "usd_hour", "own_usd"))


def test_a_price_of_no_system_in_particular_is_asked_about(size: AppTest) -> None:
    size.text_input(key="usd_system").set_value("1000").run()
    assert any("Price of a system: choose the system that costs this." in p.replace("\\", "") for p in problems(size))
    size.selectbox(key="usd_of").set_value("hgx_h100_8").run()
    assert not problems(size)
    assert "HGX H100 8-GPU OEM server" in answer(size)


def test_version_of_the_defaults_is_in_the_address(size: AppTest) -> None:
    assert size.query_params["v"] == LINK_VERSION


def test_link_of_another_version_says_so(open_link: OpenLink) -> None:
    assert not any("of the form" in w.value for w in open_link(v=LINK_VERSION).warning)
    assert "version 7 of the form" in open_link(v="7").warning[0].value


DEFAULTS = {
    "avg_pct": "95",
    "cached": "0",
    "accurate": True,
    "confidence": 90,
    "doc": "600",
    "docs": "5",
    "draft": "3",
    "drafts": "auto",
    "draft_cost": "5",
    "growth": "0",
    "hours": "8",
    "isl": "1155",
    "per_doc": "1",
    "redundancy": "none",
    "week": "7",
    "window": "24",
    "itl": "100",
    "lang": "English",
    "load": "rps",
    "loader": "default",
    "lora_gbs": "8",
    "lora_n": "50",
    "lora_on": "all",
    "mixed": "1",
    "lora_rank": "16",
    "lora_zipf": "1",
    "off_tier": "host_memory",
    "pics_h": "1024",
    "pics_w": "1024",
    "s_by": "at_once",
    "s_run": "0",
    "s_kinds": "1",
    "s_shared": "0",
    "s_think": "0",
    "s_tool": "0",
    "s_user": "0",
    "mode": "streaming",
    "model_by": "catalogue",
    "name": "Untitled scenario",
    "model": "meta-llama/Llama-3.3-70B-Instruct",
    "obj": "cost",
    "osl": "211",
    "p2m": "2",
    "pct": "95",
    "per_user": "3",
    "question": "50",
    "rps": "10",
    "route": "least_loaded",
    "spare": "0",
    "standby": "none",
    "steps": "kernel",
    "system": "300",
    "ttft": "2000",
    "turns": "0",
    "unit": "tokens",
    "util": "100",
    "weights_from": "unstated",
    "where": "on_prem",
    "years": "5",
}
"""What fields of an untouched form hold, those that hold nothing left out."""


def test_defaults_that_links_leave_out_are_those_of_this_link_version() -> None:
    """A changed default changes what old links mean: raise LINK_VERSION, and migrate, before changing this."""
    assert LINK_VERSION == "2"
    assert {key: value for key, value in defaults().items() if value not in ("", [], False)} == DEFAULTS


def test_a_link_of_a_former_version_means_what_it_meant(open_link: OpenLink) -> None:
    app = open_link(v="1", isl="3500")
    assert not any("of the form" in w.value or "left out" in w.value for w in app.warning)
    assert app.text_input(key="isl").value == "3500"
    held = app.session_state["last_answer"].scenario
    assert held.limits.percentile == 99
    assert held.deployment.measured_gpus_only
    assert held.deployment.precisions == ["bf16", "fp16", "fp8"]
    assert app.query_params["v"] == LINK_VERSION
    assert app.query_params["pct"] == "99"
    every_format = from_parameters({"v": ["1"], "prec": [""], "pct": ["90"]}).values
    assert (every_format["prec"], every_format["accurate"], every_format["pct"]) == ([], False, "90")
    today = from_parameters({"pct": ["90"]}).values
    assert (today["prec"], today["accurate"], today["proven"]) == ([], True, False)


@pytest.mark.parametrize(
    ("asked", "wrong", "meant"),
    [
        ({"goto": "compare", "beside": ["H100 SXM", "b200 SXM + FP9"]}, "b200 SXM + FP9", "B200 SXM"),
        ({"goto": "live", "source": "Demo deploymnt"}, "Demo deploymnt", "Demo deployment"),
        ({"goto": "methodology", "chapter": "Glosary"}, "Glosary", "Glossary"),
        ({"goto": "explore", "shown": ["H100 SXM5 80GB", "H200 SMX 141GB"]}, "H200 SMX 141GB", "H200 SXM 141GB"),
        ({"goto": "size", "where": "Cloud", "cost_cloud": "awz"}, "awz", "aws"),
        ({"goto": "size", "cost_region": "Germny"}, "Germny", "Germany"),
    ],
)
def test_what_a_link_may_mean_is_said(open_link: OpenLink, asked: dict, wrong: str, meant: str) -> None:
    app = open_link(**asked)
    assert not app.exception
    (said,) = [one.value.replace("\\", "") for one in app.warning if wrong in one.value.replace("\\", "")]
    assert meant in said.partition("Did you mean")[2]


def test_a_link_says_how_what_is_planned_in_the_cloud_is_rented(open_link: OpenLink) -> None:
    asked = {"where": "Cloud", "cost_cloud": "aws"}
    size = open_link(**asked)
    assert "aws" in answer(size)
    assert size.query_params == {"v": LINK_VERSION, **asked}
    cost = size.switch_page("pages/cost.py").run()
    assert cost.selectbox(key="cost_cloud").value == "aws"
    cost.selectbox(key="cost_cloud").set_value("gcp").run()
    size = cost.switch_page("pages/size.py").run()
    assert "gcp" in answer(size)
    assert size.query_params["cost_cloud"] == "gcp"


def test_a_link_says_where_and_for_how_long_hardware_is_paid_for(open_link: OpenLink) -> None:
    asked = {"cost_region": "Germany", "cost_growth": "25 %", "cost_facility": "Colocation", "cost_without": "Staff"}
    size = open_link(**asked)
    assert {key: size.query_params[key] for key in asked} == asked
    cost = size.switch_page("pages/cost.py").run()
    assert cost.selectbox(key="cost_region").value == "germany"
    assert cost.multiselect(key="cost_without").value == ["staff"]
    cost.selectbox(key="cost_region").set_value("france").run()
    size = cost.switch_page("pages/size.py").run()
    assert size.query_params["cost_region"] == "France"


def test_a_scenario_with_costs_has_them_in_its_link_and_says_what_words_cannot() -> None:
    costs = {"region": "germany", "growth_percent_per_year": 30, "leave_out": ["staff"], "ramp_up_months": 6}
    workload = {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 1}
    asked = Scenario.model_validate({"model": "meta-llama/Llama-3.1-8B", "workload": workload, "costs": costs})
    link = live_link(asked, "http://localhost:8501/size")
    stated = parse_qs(urlsplit(link.address).query)
    assert (stated["cost_region"], stated["cost_without"], stated["cost_ramp"]) == (
        ["Germany"],
        ["Staff"],
        ["6 months"],
    )
    assert link.left_out == ("costs.growth_percent_per_year",)


def test_labels_of_a_choice_are_distinct() -> None:
    for key, field in FIELDS.items():
        if field.kind in ("choice", "many"):
            assert len(set(labels(key).values())) == len(labels(key)), key


def test_a_link_that_goes_to_another_page_keeps_what_is_open_there(open_link: OpenLink) -> None:
    app = open_link(view="Export", isl="3500")
    app.switch_page("pages/explore.py").run()
    assert app.query_params == {"v": LINK_VERSION, "isl": "3500"}
    app.session_state["show"] = "Lengths"
    app.run()
    assert app.query_params == {"v": LINK_VERSION, "isl": "3500", "show": "Lengths"}
    app.switch_page("pages/size.py").run()
    assert app.query_params == {"v": LINK_VERSION, "isl": "3500", "view": "Export"}


def test_fields_that_are_not_drawn_stay_in_the_address(open_link: OpenLink) -> None:
    app = open_link(rps="31", load="Users", users="9000", mode="Offline", ttft="700")
    assert not app.exception
    assert app.query_params == {
        "v": LINK_VERSION, "rps": "31", "load": "Users", "users": "9000", "mode": "Offline", "ttft": "700"
    }  # fmt: skip
    app.session_state["load"] = "rps"
    app.run()
    assert app.text_input(key="rps").value == "31"


def test_an_accelerator_that_a_link_does_not_describe_is_left_out(open_link: OpenLink) -> None:
    app = open_link(gpu=["Own accelerator", "H200 SXM 141GB"])
    assert not app.exception
    assert app.multiselect(key="gpu").value == ["h200_sxm"]


def test_prices_that_a_link_leaves_behind_are_named(size: AppTest, open_link: OpenLink) -> None:
    """Another session, on another replica as well, would answer without them and not say so."""
    size.selectbox(key="usd_of").set_value("dgx_h100")
    size.text_input(key="usd_system").set_value("123456").run()
    assert size.query_params["given"] == "prices"
    said = "made with prices of its own, which a link cannot carry"
    assert not any(said in w.value for w in size.warning)
    elsewhere = open_link(given="prices,benchmark,nonsense")
    assert not elsewhere.exception
    assert any("made with a benchmark and prices of its own, which" in w.value for w in elsewhere.warning)
    elsewhere.selectbox(key="usd_of").set_value("dgx_h100")
    elsewhere.text_input(key="usd_system").set_value("123456").run()
    assert any("made with a benchmark, which a link" in w.value for w in elsewhere.warning)
    elsewhere.text_input(key="osl").set_value("150").run()
    assert not any("made with" in w.value for w in elsewhere.warning)
