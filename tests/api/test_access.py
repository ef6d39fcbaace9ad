"""Which program may ask: none needs a token on one's own machine; with rules its role is that of the pages."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from sharing.access.rules import read_rules
from sharing.access.tokens import token_hash
from tests.api.conftest import serving
from tests.api.scenarios import SCENARIO
from tests.commands import run
from tests.patience import PATIENCE_S

VIEWER, EDITOR = "viewer-token", "editor-token"


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rules") / "access.yaml"


@pytest.fixture(scope="module")
def guarded(rules: Path) -> Iterator[str]:
    rules.write_text(
        f"viewer: {{tokens: [{token_hash(VIEWER)}], pages: [size]}}\n"
        f"editor: {{tokens: [{token_hash(EDITOR)}]}}\nothers: viewer\nask: sizing@acme.com\n"
    )
    with serving("--host", "sizing.acme.com", environment={"SHARING_ACCESS": str(rules)}) as address:
        yield address


def ask(server: str, path: str, token: str | None, **headers: str) -> requests.Response:
    given = {"Authorization": f"Bearer {token}"} if token else {}
    return requests.post(f"{server}/v1/{path}", json=SCENARIO, headers=given | headers, timeout=PATIENCE_S)


@pytest.mark.parametrize(
    ("token", "path", "status"),
    [
        (None, "plan", 401),
        ("somebody's", "plan", 401),
        (VIEWER, "plan", 200),
        (VIEWER, "cost", 403),
        (EDITOR, "plan", 200),
        (EDITOR, "cost", 200),
    ],
)
def test_a_token_opens_what_the_pages_of_its_role_answer(
    guarded: str, token: str | None, path: str, status: int
) -> None:
    answer = ask(guarded, path, token)
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "ask sizing@acme.com for one." in answer.json()["detail"]
    if status == 403:
        assert answer.json()["detail"] == "What the page cost answers is not for the role viewer."


def test_it_answers_for_the_names_that_it_was_given(guarded: str) -> None:
    assert ask(guarded, "plan", EDITOR, Host="sizing.acme.com").status_code == 200
    assert ask(guarded, "plan", EDITOR, Host="other.acme.com").status_code == 421


def test_a_role_that_is_taken_away_is_gone_with_the_next_request(guarded: str, rules: Path) -> None:
    before = rules.read_text()
    try:
        rules.write_text("viewer: {emails: [ann@acme.com]}\n")
        assert ask(guarded, "plan", EDITOR).status_code == 401
        rules.write_text("viewer: {tokens: [short]}\n")
        assert ask(guarded, "plan", EDITOR).status_code == 503
        rules.unlink()  # named, and gone: nobody knows what it said
        assert ask(guarded, "plan", EDITOR).status_code == 503
    finally:
        rules.write_text(before)
        os.utime(rules)


def test_others_reach_it_only_where_rules_say_who_may_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHARING_ACCESS", raising=False)
    refused = run("api", "http", "--address", "0.0.0.0")
    assert refused.returncode == 2
    assert refused.stderr.startswith("0.0.0.0 can be reached by others, and without access.yaml nobody needs a token")


def test_an_address_that_is_taken_is_one_sentence(server: str) -> None:
    port = server.rpartition(":")[2]
    refused = run("api", "http", "--port", port)
    assert (refused.returncode, refused.stderr) == (2, f"localhost:{port}: Address already in use.\n")


def test_a_new_token_has_the_role_that_its_line_gives(tmp_path: Path) -> None:
    made = run("api", "token", "--role", "editor")
    token = re.findall(r"Token, shown once: (\S+)", made.stdout)[0]
    line = re.findall(r"In access.yaml: (.+)", made.stdout)[0]
    (tmp_path / "access.yaml").write_text(line)
    assert read_rules(tmp_path / "access.yaml").role_of_token(token) == "editor"
    assert read_rules(tmp_path / "access.yaml").role_of_token(f"{token}x") is None
