"""Which sources there are: a folder of files, the demo, and what a viewer typed; secrets stay secret."""

import os
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from collectors.source import source_from
from ui.sources.known import KnownSource, Origin, listing

GOOD = "schema_version: 1\nname: production\nprometheus: {url: http://prometheus:9090}\nselector: {model_name: llama}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIVE_SOURCES", str(tmp_path))
    return tmp_path


def typed(**endpoint: object) -> KnownSource:
    raw = {"schema_version": 1, "name": "mine", "prometheus": {"url": "http://prometheus:9090", **endpoint}}
    return KnownSource(name="mine", origin=Origin.TYPED, source=source_from(raw))


def test_files_come_first_and_the_demo_last(folder: Path) -> None:
    (folder / "a.yaml").write_text(GOOD)
    (folder / "b.json").write_text(
        '{"schema_version": 1, "name": "edge", "scrape": {"targets": ["http://e:8000/metrics"]}}'
    )
    (folder / "notes.txt").write_text("not a source")
    found = listing()
    assert [known.name for known in found.sources] == ["production", "edge", "Demo deployment"]
    assert not found.broken


def test_a_broken_file_is_sentences_and_takes_no_other_with_it(folder: Path) -> None:
    (folder / "a.yaml").write_text(GOOD)
    (folder / "bad.yaml").write_text("schema_version: 1\nprometeus: {url: http://x}\n")
    (folder / "worse.yaml").write_text("{")
    (folder / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    found = listing()
    assert [known.name for known in found.sources] == ["production", "Demo deployment"]
    told = {one.file: " ".join(one.problems) for one in found.broken}
    assert "did you mean prometheus" in told["bad.yaml"]
    assert told["worse.yaml"].startswith("worse.yaml is not valid YAML")
    assert told["binary.yaml"] == "binary.yaml cannot be read as text."
    assert str(folder) not in str(told)


def test_a_changed_file_is_read_anew(folder: Path) -> None:
    path = folder / "a.yaml"
    path.write_text(GOOD)
    assert listing().sources[0].name == "production"
    path.write_text(GOOD.replace("production", "staging"))
    os.utime(path, ns=(1, 1))
    assert listing().sources[0].name == "staging"


def test_two_files_of_one_name_are_told_apart(folder: Path) -> None:
    (folder / "a.yaml").write_text(GOOD)
    (folder / "b.yaml").write_text(GOOD)
    assert [k.name for k in listing().sources] == ["production", "production (b.yaml)", "Demo deployment"]


def test_a_folder_that_does_not_exist_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVE_SOURCES", "/does/not/exist")
    found = listing()
    assert found.broken[0].problems == ("LIVE_SOURCES names /does/not/exist, which is not a folder.",)
    assert found.sources[-1].origin is Origin.DEMO


def test_the_folder_can_stand_in_the_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIVE_SOURCES", raising=False)
    (tmp_path / "a.yaml").write_text(GOOD)

    def script() -> None:
        import streamlit as st

        from ui.sources.known import listing

        st.text(listing().sources[0].name)

    app = AppTest.from_function(script)
    app.secrets["live"] = {"sources": str(tmp_path)}
    assert app.run().text[0].value == "production"


def test_who_lacks_the_secret_shares_nothing() -> None:
    one, other, none = typed(auth={"token": "a"}), typed(auth={"token": "b"}), typed()
    assert len({one.key, other.key, none.key}) == 3
    assert len({one.connection_key, other.connection_key, none.connection_key}) == 3
    assert one.key == typed(auth={"token": "a"}).key
    tenants = [typed(headers={"X-Scope-OrgID": tenant}) for tenant in ("a", "b")]
    assert tenants[0].key != tenants[1].key


def test_a_selection_is_another_question_over_the_same_connection() -> None:
    whole = typed()
    part = whole.within({"model_name": 'a"} or vector(1) #'})
    assert part.key != whole.key
    assert part.connection_key == whole.connection_key
    assert part.source.selector == {"model_name": 'a"} or vector(1) #'}


def test_secrets_never_show() -> None:
    known = typed(auth={"username": "me", "password": "hunter2"}, headers={"X-Key": "tok3n"})
    shown = f"{known!r} {known.key} {known.connection_key} {known.source!r} {known.source.model_dump_json()}"
    assert "hunter2" not in shown
    assert "tok3n" not in shown
