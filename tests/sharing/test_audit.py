"""The audit log: every act leaves a line, and what cannot be written down is not done."""

import ast
import json
import logging
import stat
from pathlib import Path

import pytest

from sharing.access import Actor, Role
from sharing.audit import VARIABLE, Act, record
from sharing.author import owner
from sharing.bonds import Bonds
from sharing.bonds.records import SourcePlace
from sharing.cli import main
from sharing.document import to_yaml
from sharing.errors import AuditUnavailable, LinkRefused
from sharing.library import Library
from sharing.library.records import Conflict
from sharing.links import Holder, Links
from sharing.links.records import Terms
from tests.sharing.test_library import draft
from tests.sharing.test_links import report
from tests.tools.source_files import ROOT

ANN = Actor(name="ann", role=Role.ADMIN)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "audit.jsonl"
    monkeypatch.setenv(VARIABLE, str(place))
    return place


def acts(file: Path) -> list[tuple[str, str, str]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert all(line["at"].endswith("+00:00") for line in lines)
    return [(line["act"], line["by"], line["subject"]) for line in lines]


def test_the_life_of_a_scenario_is_written_down(library: Library, file: Path) -> None:
    first = library.add(draft(), by=ANN)
    second = library.save(first.scenario_id, 1, draft(rate=7), by=ANN)
    assert not isinstance(second, Conflict)
    made = Links(library).make(first.scenario_id, 2, report(), Terms(password="a secret"), by=ANN)
    holder = Holder(library, made.token, "10.1.2.3")
    with pytest.raises(LinkRefused):
        holder.unlock("guessed")
    holder.count_view(holder.show(holder.unlock("a secret")).link)
    Links(library).revoke(made.link.id, by=ANN)
    Bonds(library).bind(first.scenario_id, SourcePlace(source="production"), by=ANN)
    library.delete(first.scenario_id, 2, by=ANN)
    library.restore(first.scenario_id, 3, by=ANN)
    library.delete(first.scenario_id, 4, by=ANN)
    library.purge(first.scenario_id, by=ANN)
    scenario, link, whoever = f"scenario {first.scenario_id}", f"link {made.link.id}", "holder of the link"
    assert acts(file) == [
        ("saved", "ann", f"{scenario}, version 1"),
        ("saved", "ann", f"{scenario}, version 2"),
        ("shared", "ann", f"{link} to {scenario}, version 2"),
        ("wrong_password", whoever, link),
        ("link_read", whoever, link),
        ("revoked", "ann", link),
        ("bound", "ann", scenario),
        ("deleted", "ann", f"{scenario}, version 3"),
        ("restored", "ann", f"{scenario}, version 4"),
        ("deleted", "ann", f"{scenario}, version 5"),
        ("purged", "ann", scenario),
    ]
    addresses = {json.loads(line)["address"] for line in file.read_text().splitlines()}
    assert addresses == {"", "10.1.2.3"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_conflict_changed_nothing_and_is_no_act(library: Library, file: Path) -> None:
    first = library.add(draft(), by=ANN)
    library.save(first.scenario_id, 1, draft(rate=7), by=ANN)
    assert isinstance(library.save(first.scenario_id, 1, draft(rate=8), by=ANN), Conflict)
    assert len(acts(file)) == 2


def test_what_cannot_be_written_down_is_not_done(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))  # a folder
    with pytest.raises(AuditUnavailable, match="The audit log cannot be written"):
        library.add(draft(), by=ANN)
    assert library.search().total == 0


def test_a_line_is_one_line_whatever_is_in_it(file: Path) -> None:
    record(Act.EXPORTED, Actor(name='eve\n{"act": "purged"}', role=None), "a\nb\u2028c")
    assert len(file.read_text().split("\n")) == 2
    assert acts(file) == [("exported", 'eve\n{"act": "purged"}', "a\nb\u2028c")]


def test_without_a_file_the_log_has_it(library: Library, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="sharing.audit"):
        library.add(draft(), by=owner("ann"))
    assert [record.audit["act"] for record in caplog.records if hasattr(record, "audit")] == ["saved"]


def test_an_export_by_the_command_line_is_written_down(file: Path, tmp_path: Path) -> None:
    source = tmp_path / "scenario.yaml"
    source.write_text(to_yaml(draft().scenario))
    assert main(["export", str(source), "--to", str(tmp_path / "out.json")]) == 0
    assert [act for act, _, _ in acts(file)] == ["exported"]


KEPT_BY_ITSELF = {"keep"}
"""What a scheduled comparison leaves in the library: no act of a person."""


def test_whatever_writes_to_the_library_is_written_down() -> None:
    """Each function that opens a transaction of somebody records an act within it."""
    silent = []
    for source in (ROOT / "sharing").rglob("*.py"):
        for function in ast.walk(ast.parse(source.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
            writes = any(isinstance(call, ast.Attribute) and call.attr == "writing" for call in calls)
            of_somebody = writes and any(argument.arg == "by" for argument in function.args.kwonlyargs)
            named = {call.id for call in calls if isinstance(call, ast.Name)}
            if of_somebody and not named & {"record", "_recorded"} and function.name not in KEPT_BY_ITSELF:
                silent.append(f"{source.name}: {function.name}")
    assert silent == []
