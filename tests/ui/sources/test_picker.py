"""Choosing a source, and connecting one of one's own: bad input is a sentence, credentials never show."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.patience import PATIENCE_S


def script() -> None:
    import streamlit as st

    from ui import state
    from ui.sources import pick

    state.enter("live")
    picked = pick(deployments=False)
    st.text(picked.title)
    st.json(picked.link)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("LIVE_SOURCES", str(tmp_path))
    return AppTest.from_function(script, default_timeout=PATIENCE_S).run()


def connect(app: AppTest, **fields: str) -> AppTest:
    app.radio(key="connect_kind").set_value(fields.pop("kind", "Prometheus"))
    app.text_area(key="connect_urls").set_value(fields.pop("urls", ""))
    for key, value in fields.items():
        app.text_input(key=f"connect_{key}").set_value(value)
    return app.button[0].click().run()


def errors(app: AppTest) -> list[str]:
    assert not app.exception
    return [error.value.replace("\\", "") for error in app.error]


def test_the_demo_is_there_when_nothing_is_connected(app: AppTest) -> None:
    assert app.selectbox(key="source").options == ["Demo deployment"]
    assert app.text[0].value == "Demo deployment"


def test_a_typed_source_is_chosen_at_once_and_can_be_forgotten(app: AppTest) -> None:
    connect(app, urls=" http://prometheus:9090/prom ", model="llama", name="mine")
    assert app.text[0].value == "mine"
    assert app.selectbox(key="source").options == ["mine", "Demo deployment"]
    (drawn,) = app.session_state["views_by_page"].values()
    assert drawn.views["source"].written("mine") == ["mine"]  # the address has it, for a server that takes over
    app.button(key="forget_source").click().run()
    assert app.text[0].value == "Demo deployment"
    assert not app.exception


def test_credentials_are_kept_but_never_shown(app: AppTest) -> None:
    connect(app, urls="http://prometheus:9090", user="me", password="hunter2", tenant="team-9")
    assert app.text[0].value == "prometheus:9090"
    assert "hunter2" not in app.json[0].value
    assert app.text_input(key="connect_password").value == ""
    source = app.session_state["typed_sources"][0]
    assert source.prometheus.auth.password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(source)


BAD = [
    ({"urls": ""}, "URL: is empty; write http://host:port."),
    ({"urls": "prometheus"}, "“prometheus” is not an HTTP address: write http://host:port."),
    ({"urls": "ftp://host/x"}, "“ftp://host/x” is not an HTTP address"),
    ({"urls": "http://[::1"}, "is not a URL"),
    ({"urls": "http://me:hunter2@host:9090"}, "The URL holds credentials: write them under auth instead."),
    ({"urls": "http://me:hunter2@[host"}, "is not a URL"),
    ({"urls": "http://169.254.169.254/latest"}, "169.254.169.254 is a link-local or cloud metadata address"),
    ({"urls": "http://metadata.google.internal"}, "cloud metadata address"),
    ({"urls": "http://[fe80::1]:9090"}, "link-local"),
    ({"urls": "http://a:9090 http://b:9090"}, "a Prometheus has one address"),
    ({"kind": "Metrics pages", "urls": "http://a/metrics http://a/metrics"}, "a target stands twice"),
    ({"urls": "http://a:9090", "password": "x"}, "a password needs a username"),
    ({"urls": "http://a:9090", "user": "u", "token": "t"}, "give either username and password, or a token"),
    ({"urls": "http://a:9090?x=1"}, "holds a query or fragment"),
]


@pytest.mark.parametrize(("fields", "said"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_is_a_sentence(app: AppTest, fields: dict[str, str], said: str) -> None:
    connect(app, **fields)
    told = errors(app)
    assert len(told) == 1
    assert said in told[0]
    assert "hunter2" not in told[0]
    assert app.text[0].value == "Demo deployment"


def test_a_link_to_a_source_of_another_session_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVE_SOURCES", str(tmp_path))
    app = AppTest.from_function(script, default_timeout=PATIENCE_S)
    app.query_params["source"] = "mine"
    app.run()
    assert "no source “mine”" in app.warning[0].value
    assert app.text[0].value == "Demo deployment"


def test_typing_can_be_switched_off(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVE_TYPED_SOURCES", "off")
    app.run()
    assert not app.text_area
    assert any("cannot be typed here" in text.value for text in app.markdown)


def test_a_broken_file_is_told_beside_the_choice(app: AppTest, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("schema_version: 7\n")
    app.run()
    assert any("schema\\_version is 7" in text.value for text in app.markdown)
