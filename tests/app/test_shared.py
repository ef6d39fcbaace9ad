"""The page behind a frozen link: what was stored, nothing else of the server, and no markup that runs."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from sharing.author import owner
from sharing.library import Library
from sharing.library.records import ScenarioDraft
from sharing.links import Links
from sharing.links.freezing import frozen
from sharing.links.records import Made, Terms
from sharing.report.content import Released
from sizing.base.version import ENGINE_VERSION
from tests.app.conftest import scenario, started
from tests.inert import live
from tests.sharing.report_example import EVIL, evil_chart, evil_report
from ui.figures.report import build_report_chart, report_chart_table
from ui.format import as_markdown

PASSWORD = "correct horse"


def make(anns_library: Library, terms: Terms | None = None) -> Made:
    return Links(anns_library).make(1, 1, evil_report(), terms or Terms(), by=owner("ann"))


@pytest.fixture
def open_shared(anns_library: Library) -> Callable[..., AppTest]:
    def opened(token: str) -> AppTest:
        return started(goto="shared", token=token)

    return opened


def texts(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.title, app.header, app.info, app.warning, app.error)
    return " ".join(one.value for kind in kinds for one in kind)


def refusal(app: AppTest) -> str:
    assert not app.exception
    assert [one.value for one in app.title] == ["A shared sizing"]
    assert not app.metric
    assert "secret" not in texts(app)
    return " ".join(one.value for one in app.warning).replace("\\", "")


def test_what_was_stored_is_shown_with_its_versions(anns_library, open_shared):
    app = open_shared(make(anns_library).token)
    assert not app.exception
    assert app.title[0].value == as_markdown(EVIL)
    assert [one.value for one in app.metric] == ["8", "1.2\N{NO-BREAK SPACE}s", as_markdown(EVIL)]
    table, figures = app.table[0].value, app.dataframe[0].value
    assert list(table.columns) == [as_markdown(EVIL), as_markdown("Cost (USD)"), "n"]
    assert table.values.tolist() == [[as_markdown(EVIL), "1,234.50", "0.123"], ["b", "–", "3"]]
    assert figures.values.tolist() == [["b", "1.5"], ["c", "–"]]
    assert [one.value for one in app.header] == [as_markdown(EVIL), "Second"]
    for sentence in (
        "on 2026-11-22 09:30 UTC; it does not change.",
        "Engine 9.8, data d7 of 2026-11-01",
        "Version 1 of the scenario",
    ):
        assert as_markdown(sentence) in texts(app)


@pytest.mark.parametrize(
    ("then", "sentence"),
    [
        ("0.1.0", f"Engine 0.1.0 answered then and engine {ENGINE_VERSION} answers now; results may have changed"),
        ("9.8.0", f"Engine 9.8.0 answered then and engine {ENGINE_VERSION} answers now; results changed between them."),
        (ENGINE_VERSION, ""),
    ],
)
def test_a_link_of_another_engine_opens_and_says_so(anns_library, open_shared, then, sentence):
    stored = evil_report().model_copy(update={"engine_version": then})
    app = open_shared(Links(anns_library).make(1, 1, stored, Terms(), by=owner("ann")).token)
    assert not app.exception
    assert [one.value for one in app.metric] == ["8", "1.2\N{NO-BREAK SPACE}s", as_markdown(EVIL)]
    captions = [one.value for one in app.caption]
    assert any(as_markdown(sentence) in one for one in captions)
    assert ("answers now" in " ".join(captions)) is bool(sentence)


def test_nothing_else_of_the_server_is_on_the_page(anns_library, open_shared):
    app = open_shared(make(anns_library).token)
    assert not app.sidebar.children
    assert not app.get("page_link")
    assert "secret" not in texts(app)
    assert not app.get("file_uploader")
    assert {one.key for one in app.button} <= {"today"}


def test_markup_in_a_report_is_text(anns_library, open_shared):
    app = open_shared(make(anns_library).token)
    shown = [one.value for kind in (app.markdown, app.caption, app.title, app.header, app.info) for one in kind]
    shown += [text for one in app.metric for text in (one.label, one.value)]
    shown += [str(text) for one in app.table for text in (*one.value.columns, *one.value.to_numpy().flat)]
    assert any("script" in text for text in shown), "it is shown"
    assert [live(text) for text in shown if live(text)] == []
    for draws in ("line", "bar", "stacked", "tornado"):
        figure = build_report_chart(evil_chart(draws)).to_json()
        assert "<script" not in figure
        assert "&lt;script" in figure or "\\u0026lt;script" in figure


@pytest.mark.parametrize("draws", ["line", "bar", "stacked", "tornado"])
def test_a_chart_has_every_value_of_its_series(draws):
    one = evil_chart(draws, name="n")
    drawn = [trace for trace in build_report_chart(one).data if trace.name == "n"]
    (values,) = [trace.x if draws == "tornado" else trace.y for trace in drawn]
    base = 1.0 if draws == "tornado" else 0.0
    assert [None if value is None else value + base for value in values] == [1.0, None, 3.0]
    assert report_chart_table(one)["n"].iloc[2] == 3.0


@pytest.mark.parametrize("token", ["", "guess", "../../etc/passwd", "<script>", "x" * 5000])
def test_a_token_that_is_none(open_shared, token):
    assert "This link leads nowhere" in refusal(open_shared(token))


def test_a_revoked_link_is_refused_in_a_session_that_has_it_open(anns_library, open_shared):
    made = make(anns_library)
    app = open_shared(made.token)
    assert app.metric
    Links(anns_library).revoke(made.link.id, by=owner("ann"))
    assert "This link was withdrawn on" in refusal(app.run())
    assert "This link was withdrawn on" in refusal(open_shared(made.token))


def test_an_expired_link_is_refused(anns_library, open_shared):
    made = make(anns_library, Terms(expires_at=datetime.now(UTC) + timedelta(hours=1)))
    assert "This link ends on" in texts(open_shared(made.token))
    anns_library.now = lambda: datetime.now(UTC) - timedelta(hours=3)
    past = make(anns_library, Terms(expires_at=datetime.now(UTC) - timedelta(hours=2)))
    assert "This link has expired on" in refusal(open_shared(past.token))


def test_a_password_is_asked_for_once_in_a_session(anns_library, open_shared):
    made = make(anns_library, Terms(password=PASSWORD))
    app = open_shared(made.token)
    assert refusal(app) == ""
    app.text_input(key="link_guess").input("wrong horse")
    app.button[0].click().run()
    assert [one.value for one in app.error] == ["That is not the password of this link."]
    assert refusal(app) == ""
    app.text_input(key="link_guess").input(PASSWORD)
    app.button[0].click().run()
    assert app.metric
    assert app.run().metric
    assert not open_shared(made.token).metric


def test_a_session_counts_as_one_view(anns_library, open_shared):
    made = make(anns_library)
    open_shared(made.token).run().run()
    open_shared(made.token)
    (link,) = Links(anns_library).of_scenario(1, by=owner("ann"))
    assert link.views == 2


def test_a_library_that_is_away_says_nothing_of_where_it_is(open_shared, monkeypatch, tmp_path):
    monkeypatch.setenv("SHARING_DATABASE", str(tmp_path / "file" / "library.sqlite"))
    (tmp_path / "file").write_text("")
    assert refusal(open_shared("x")).startswith("This page cannot be shown now.")


@pytest.mark.slow
def test_todays_answer_stands_beside_the_stored_one(anns_library, open_shared):
    version = anns_library.version(1)
    stored = frozen(version, Released.NOTHING, made_at=datetime.now(UTC), author="ann")
    token = Links(anns_library).make(1, 1, stored, Terms(), by=owner("ann")).token
    anns_library.save(1, 1, ScenarioDraft(scenario=scenario("changed since", rate=500.0)), by=owner("ann"))
    app = open_shared(token)
    app.button(key="today").click().run()
    assert not app.exception
    assert [one.value for one in app.success] == ["Recomputed today, nothing would differ."]
    figures = app.dataframe[-1].value
    assert figures["Figure"].tolist()[:2] == ["GPUs", "Systems"]
    assert figures["Stored"].tolist() == figures["Today"].tolist()
    assert "$" not in str(figures)


def test_figures_that_differ_today_are_marked(anns_library, open_shared):
    app = open_shared(make(anns_library).token)
    app.button(key="today").click().run()
    assert "figures would differ" in texts(app)
    assert set(app.dataframe[-1].value["Differs"]) == {"yes"}
