"""Who sees and may do what on the pages, without a browser: roles, a login that ends, set-ups that let nobody in."""

import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from collectors.source import source_from
from sharing.access import Actor, Role
from sharing.access.identity import login_of
from sharing.access.rules import Rules
from sharing.author import owner
from sharing.form.link import from_parameters
from sharing.library import Library
from sharing.library.logins import end_login
from sharing.links import Links
from sharing.links.records import Terms
from sizing.base.markdown import NO_BREAK
from tests.app.conftest import APP, started
from tests.patience import PATIENCE_S
from tests.sharing.report_example import evil_report
from tests.tools.source_files import ROOT
from ui import gate
from ui.access import OPEN_TO_ALL, Standing, ended, note_who
from ui.access.session import Who
from ui.gate import uploads
from ui.sources.reading import Registry

RULES = """
claim: groups
viewer: {domains: [acme.com]}
editor: {claims: [editors]}
admin: {emails: [ann@acme.com]}
ask: it@acme.com
"""
VIEWER = {"email": "vic@acme.com", "email_verified": True}
EDITOR = VIEWER | {"groups": ["editors"]}
ADMIN = {"email": "ann@acme.com", "email_verified": True}
STRANGER = {"email": "eve@evil.org", "email_verified": True}
PAGES = sorted({file.stem for file in (ROOT / "pages").glob("*.py")} - OPEN_TO_ALL)

LogIn = Callable[..., AppTest]


@pytest.fixture
def log_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anns_library: Library) -> LogIn:
    """A session of a server that asks for a login; of nobody where no claims are given."""
    rules = tmp_path / "access.yaml"
    rules.write_text(RULES)
    monkeypatch.setenv("SHARING_ACCESS", str(rules))

    def logged_in(claims: dict[str, Any] | None, page: str = "scenarios", lasts_s: float = 3600.0) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=PATIENCE_S)
        app.secrets = {"auth": {"client_id": "x"}}
        now = time.time()
        app.user = {"is_logged_in": True, "iat": now, "exp": now + lasts_s, **claims} if claims else {}
        app.query_params["goto"] = page
        return app.run()

    return logged_in


def keys(app: AppTest) -> set[str]:
    return {one.key for one in (*app.button, *app.toggle, *app.get("popover"), *app.get("tab")) if one.key}


def set_option(monkeypatch: pytest.MonkeyPatch, wanted: str, value: object) -> None:
    option = st.get_option
    monkeypatch.setattr(st, "get_option", lambda name: value if name == wanted else option(name))


def sentences(app: AppTest) -> str:
    return " ".join(one.value.replace("\\", "") for one in app.info)


def test_nobody_sees_anything_before_the_login(log_in: LogIn) -> None:
    for page in PAGES:
        app = log_in(None, page)
        assert not app.exception, page
        assert [title.value for title in app.title] == ["Inference sizing"]
        assert sentences(app) == "Log in to see this page."
        assert keys(app) == {"log_in_None"}
        assert not [*app.dataframe, *app.metric, *app.caption, *app.selectbox, *app.text_input, *app.markdown]
        assert not app.sidebar.children


def test_only_the_page_of_frozen_links_is_open_to_all() -> None:
    assert {"shared"} == OPEN_TO_ALL


def test_a_stranger_is_told_whom_to_ask(log_in: LogIn) -> None:
    app = log_in(STRANGER)
    assert sentences(app) == f"eve{NO_BREAK}@evil.org has no access here. Ask it@acme.com for it."
    assert keys(app) == {"log_out"}
    assert not app.dataframe


def test_an_unverified_address_is_nobodys(log_in: LogIn) -> None:
    app = log_in(ADMIN | {"email_verified": False, "name": "Eve"})
    assert sentences(app).startswith("Eve #")


def test_a_login_that_has_ended(log_in: LogIn) -> None:
    app = log_in(ADMIN, lasts_s=-1.0)
    assert sentences(app).startswith("Your login has ended.")
    assert keys(app) == {"log_in_None"}


def test_a_login_that_ends_while_a_page_is_open(log_in: LogIn, anns_library: Library) -> None:
    app = log_in(EDITOR, "size")
    app.user["exp"] = time.time() - 1.0
    app.button(key="save_new").click().run()
    assert not app.exception
    assert sentences(app).startswith("Your login has ended.")
    assert anns_library.search().total == 1


@pytest.mark.parametrize(
    ("claims", "buttons"),
    [
        (VIEWER, set()),
        (EDITOR, {"scenario_copy", "scenario_delete"}),
        (ADMIN, {"scenario_copy", "scenario_delete", "scenarios_deleted"}),
    ],
)
def test_controls_of_each_role(log_in: LogIn, claims: dict[str, Any], buttons: set[str]) -> None:
    app = log_in(claims)
    assert not app.exception
    assert list(app.dataframe[0].value["Name"]) == ["Acme's secret"]
    guarded = {"scenario_copy", "scenario_delete", "scenarios_deleted"}
    assert keys(app) & guarded == buttons
    assert [tab.label for tab in app.tabs] == ["Scenarios", "Projects"] + (["Import"] if buttons else [])
    size = log_in(claims, "size")
    assert ("save_new" in keys(size)) == bool(buttons)
    assert any(claims["email"] in text.value for text in size.sidebar.text)


def test_a_role_that_is_taken_away_while_a_page_is_open(log_in: LogIn, anns_library: Library, tmp_path: Path) -> None:
    app = log_in(EDITOR)
    (tmp_path / "access.yaml").write_text(RULES.replace("editors", "others"))
    app.button(key="scenario_delete").click().run()
    assert not app.exception
    assert anns_library.search().total == 1
    assert "scenario_delete" not in keys(app)


def test_the_library_refuses_a_callback_of_a_page_that_was_drawn_before(
    log_in: LogIn, anns_library: Library, tmp_path: Path
) -> None:
    """Streamlit runs callbacks before the page and its controls are drawn anew."""
    app = log_in(EDITOR, "size")
    (tmp_path / "access.yaml").write_text(RULES.replace("editors", "others"))
    app.button(key="save_new").click().run()
    assert anns_library.search().total == 1
    assert "Editor is the role that may save scenarios: yours is viewer." in app.session_state["save_problem"]


def test_pages_of_a_role(log_in: LogIn, tmp_path: Path) -> None:
    (tmp_path / "access.yaml").write_text(RULES.replace("[acme.com]", "[acme.com], pages: [size, scenarios]"))
    app = log_in(VIEWER, "live")
    assert sentences(app) == "This page is not for the role viewer. Ask it@acme.com for it."
    assert not log_in(VIEWER, "scenarios").info


def test_who_acts_stands_in_the_history(log_in: LogIn, anns_library: Library) -> None:
    log_in(EDITOR, "size").button(key="save_new").click().run()
    assert anns_library.version(2).author == "vic@acme.com"


@pytest.mark.parametrize("rules", ["owner: {}", "a: [", None])
def test_rules_that_cannot_be_used_let_nobody_in(log_in: LogIn, tmp_path: Path, rules: str | None) -> None:
    file = tmp_path / "access.yaml"
    file.unlink() if rules is None else file.write_text(rules)
    app = log_in(ADMIN)
    assert sentences(app).startswith("Nobody gets in")
    assert not [*app.dataframe, *app.button]


def test_rules_without_a_login_let_nobody_in(log_in: LogIn, app: AppTest) -> None:
    assert sentences(app.run()).startswith("Nobody gets in")


def test_secrets_that_cannot_be_read_let_nobody_in(
    anns_library: Library, app: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit takes broken secrets for none, and so a server that asks for a login for one that does not."""
    broken = tmp_path / "secrets.toml"
    broken.write_text("[auth")
    set_option(monkeypatch, "secrets.files", [str(broken)])
    assert sentences(app.run()).startswith("Nobody gets in")


def test_without_a_login_one_user_owns_everything(anns_library: Library, app: AppTest) -> None:
    page = app.switch_page("pages/scenarios.py").run()
    assert {"scenario_copy", "scenario_delete", "scenarios_deleted"} <= keys(page)
    assert not page.warning


def test_without_a_login_other_machines_are_warned_of(
    anns_library: Library, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_option(monkeypatch, "server.address", "0.0.0.0")
    page = app.switch_page("pages/scenarios.py").run()
    assert "Nobody has to log in" in page.warning[0].value


def test_who_holds_a_link_sees_it_without_a_login_and_nothing_else(log_in: LogIn, anns_library: Library) -> None:
    made = Links(anns_library).make(1, 1, evil_report("Shared"), Terms(), by=owner("ann"))
    app = log_in(None, "shared")
    assert [one.value for one in app.title] == ["A shared sizing"]
    app.query_params["token"] = made.token
    app.run()
    assert [one.value for one in app.title] == ["Shared"]
    for page in PAGES:
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, page
        assert "Log in to see this page." in sentences(app), page
        assert not app.dataframe, page


def test_typed_sources_and_promql_are_for_editors(
    log_in: LogIn, monkeypatch: pytest.MonkeyPatch, registry: Registry
) -> None:
    """Addresses that the server reads, and expressions that no selector holds."""
    for claims, may in ((VIEWER, False), (EDITOR, True)):
        app = log_in(claims, "live")
        assert not app.exception
        assert any(one.key == "connect_urls" for one in app.text_area) == may
        assert ("Addresses cannot be typed here" in " ".join(one.value for one in app.markdown)) == (not may)
    monkeypatch.setenv("LIVE_TYPED_SOURCES", "viewers")
    assert any(one.key == "connect_urls" for one in log_in(VIEWER, "live").text_area)
    monkeypatch.setenv("LIVE_TYPED_SOURCES", "off")
    assert not any(one.key == "connect_urls" for one in log_in(ADMIN, "live").text_area)


def test_what_was_typed_goes_with_the_role(log_in: LogIn, tmp_path: Path, registry: Registry) -> None:
    source = source_from({"schema_version": 1, "name": "mine", "prometheus": {"url": "http://127.0.0.1:1"}})
    app = log_in(EDITOR, "live")
    app.session_state["typed_sources"] = (source,)
    app.run()
    assert "mine" in app.selectbox(key="source").options
    (tmp_path / "access.yaml").write_text(RULES.replace("editors", "others"))
    app.run()
    assert "mine" not in app.selectbox(key="source").options


def test_logging_out_ends_every_copy_of_the_login(log_in: LogIn, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[bool] = []
    monkeypatch.setattr(st, "logout", lambda: left.append(True))
    app, copy = log_in(EDITOR), log_in(EDITOR)
    copy.user = dict(app.user)
    assert not copy.run().info
    app.button(key="log_out").click().run()
    assert left == [True]
    assert sentences(copy.run()).startswith("Your login has ended.")
    assert keys(copy) == {"log_in_None"}
    another = log_in(EDITOR)  # who logs in again gets in again
    another.user["iat"] += 1
    assert not another.run().info


def test_an_ended_login_is_known_to_a_server_that_starts_later(
    log_in: LogIn, anns_library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = log_in(EDITOR)
    end_login(anns_library, login_of(app.user), datetime.now(UTC) + timedelta(hours=1))
    monkeypatch.setattr(ended, "_ENDED", ended._Ended())
    assert sentences(app.run()).startswith("Your login has ended.")


def test_a_page_of_a_server_without_its_gate_is_closed(anns_library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """``streamlit run app.py`` goes past the gate, and so does whatever else runs that script."""
    for passed_by, closed in ((False, []), (True, ["Nobody gets in: this server was not started by python -m ui."])):
        monkeypatch.setattr(gate, "is_passed_by", lambda passed_by=passed_by: passed_by)
        app = started(goto="scenarios")
        assert [one.value for one in app.error] == closed
        assert bool(app.dataframe) != bool(closed)


def test_who_may_not_see_a_page_has_no_work_done_for_its_link(log_in: LogIn, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    module = sys.modules["ui.state.link"]
    monkeypatch.setattr(module, "from_parameters", lambda given: read.append("") or from_parameters(given))
    for claims, reads in ((None, False), (EDITOR, True)):
        app = log_in(claims, "home")
        app.query_params.update({"goto": "size", "rps": "20"})
        app.run()
        assert bool(read) == reads


def test_only_a_session_past_the_door_may_upload(log_in: LogIn) -> None:
    uploads._admitted.clear()
    log_in(None, "size")
    assert not uploads._admitted
    app = log_in(EDITOR, "size")
    assert uploads._admitted
    app.user["exp"] = time.time() - 1.0
    app.run()
    assert not uploads._admitted


def test_who_logs_in_and_who_is_turned_away_is_written_down(
    log_in: LogIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = tmp_path / "audit.jsonl"
    monkeypatch.setenv("SHARING_AUDIT", str(audit))
    log_in(EDITOR).run()
    assert _acts(audit) == [("logged_in", "vic@acme.com", "editor")]
    log_in(STRANGER)
    assert _acts(audit)[1:] == [("turned_away", "eve@evil.org", "")]


def test_a_role_that_changed_during_a_session_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = tmp_path / "audit.jsonl"
    monkeypatch.setenv("SHARING_AUDIT", str(audit))
    monkeypatch.setattr(st, "session_state", {})
    for role in (Role.EDITOR, Role.EDITOR, Role.VIEWER, None):
        standing = Standing.IN if role else Standing.WITHOUT_ROLE
        who = Who(standing=standing, actor=Actor(name="vic", role=role), rules=Rules())
        monkeypatch.setattr("ui.access.session.who", lambda who=who: who)
        note_who()
    assert _acts(audit) == [
        ("logged_in", "vic", "editor"),
        ("role_changed", "vic", "viewer"),
        ("role_changed", "vic", ""),
    ]


def _acts(audit: Path) -> list[tuple[str, str, str]]:
    lines = map(json.loads, audit.read_text().splitlines())
    return [(line["act"], line["by"], line["role"]) for line in lines]
