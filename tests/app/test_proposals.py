"""Size, a link, a frozen link and a report show the same proposals; a click makes another one the plan."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlencode

from sharing.author import owner
from sharing.form.link import from_parameters, to_parameters
from sharing.form.presets import defaults
from sharing.form.read import to_scenario
from sharing.form.write import from_scenario
from sharing.library import open_library
from sharing.library.records import Project, ScenarioDraft
from sharing.links.freezing import frozen
from sharing.report.content import Released, Section
from sharing.report.proposals import proposals
from sharing.report.subject import subject_of
from sizing import Scenario
from sizing.base.format import usd
from sizing.base.result import Plan
from sizing.planning.answered import Answer
from sizing.planning.proposal_text import NAMES, balanced_of, gives_up, made_of
from tests.app.conftest import OpenLink
from tests.app.pages_text import plain
from ui.state import plan_of

ASKED = {"model": "meta-llama/Llama-3.3-70B-Instruct", "gpu": "h100,h200", "rps": "20", "isl": "3000", "osl": "300"}


def cards(plan: Plan) -> list[str]:
    """What the cards of a plan say, in their order."""
    return [
        f"Hardware **{usd(one.hardware_usd_per_month)} a month** for {made_of(one.deployment)}"
        for one in plan.proposals
    ]


def test_size_shows_what_the_plan_proposes(open_link: OpenLink) -> None:
    app = open_link(**ASKED)
    plan = app.session_state["last_answer"].plan
    texts = [plain(one.value) for one in app.markdown]
    assert [text for text in texts if " a month** for " in text] == cards(plan)
    assert len(cards(plan)) == len(NAMES)
    balanced = balanced_of(plan)
    assert balanced is not None
    captions = [plain(one.value) for one in app.caption]
    assert all(gives_up(one, balanced, usd) in captions for one in plan.proposals)


def test_a_click_makes_the_resilient_proposal_the_plan(open_link: OpenLink) -> None:
    app = open_link(**ASKED)
    resilient = app.session_state["last_answer"].plan.proposals[-1]
    app.button(key="propose_resilient").click().run()
    assert not app.exception
    answer = app.session_state["last_answer"]
    assert answer.scenario.deployment.redundancy == "system"
    assert answer.plan.deployment == resilient.deployment
    assert "propose_resilient" not in {one.key for one in app.button}


def test_link_report_and_frozen_link_propose_the_same(open_link: OpenLink, tmp_path, monkeypatch) -> None:
    answer: Answer = open_link(**ASKED).session_state["last_answer"]
    query = urlencode(to_parameters(from_scenario(answer.scenario)), doseq=True)
    again = Scenario.model_validate(to_scenario(defaults() | from_parameters(parse_qs(query)).values))
    assert plan_of(again.model_dump_json()).proposals == answer.plan.proposals
    section = proposals(subject_of(answer, Released.LIST_PRICES))
    assert isinstance(section, Section)
    table = section.blocks[0]
    assert table.kind == "table"
    assert [row[:2] for row in table.rows] == [
        (NAMES[one.name], made_of(one.deployment)) for one in answer.plan.proposals
    ]
    assert [row[3] for row in table.rows] == [one.hardware_usd_per_month for one in answer.plan.proposals]
    monkeypatch.setenv("SHARING_DATABASE", str(tmp_path / "library.sqlite"))
    library = open_library()
    version = library.add(
        ScenarioDraft(scenario=answer.scenario, project=Project(name="P", customer="C")), by=owner("ann")
    )
    kept = frozen(version, Released.LIST_PRICES, made_at=datetime(2026, 11, 26, tzinfo=UTC), author="ann")
    library.close()
    assert section in kept.sections


def test_no_amount_is_proposed_where_none_is_released(open_link: OpenLink) -> None:
    answer: Answer = open_link(**ASKED).session_state["last_answer"]
    section = proposals(subject_of(answer, Released.NOTHING))
    assert "$" not in section.model_dump_json()
    assert "systems instead of" in section.model_dump_json()
