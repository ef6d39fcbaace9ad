"""Advisories looked through without a network, in the format of osv.dev."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY
from tests.patience import PATIENCE_S

LOCK = "requests==2.32.0 \\\n    --hash=sha256:x\nJinja2==3.1.6 ; python_version > '3'\npsycopg[binary]==3.2.1\n"


def advisory(name: str, *events: dict[str, str], **more: object) -> dict[str, object]:
    affected = {
        "package": {"ecosystem": "PyPI", "name": name},
        "ranges": [{"type": "ECOSYSTEM", "events": list(events)}],
    }
    return {"id": f"PYSEC-{name}", "summary": "It leaks.", "affected": [affected], **more}


def audited(tmp_path: Path, *all_of: dict[str, object]) -> tuple[int, str]:
    place, lock = tmp_path / "all.zip", tmp_path / "a.lock"
    lock.write_text(LOCK)
    with zipfile.ZipFile(place, "w") as archive:
        for number, one in enumerate(all_of):
            archive.writestr(f"{number}.json", json.dumps(one))
    return run(place, lock)


def run(place: Path, lock: Path) -> tuple[int, str]:
    command = [sys.executable, str(DEPLOY / "audit.py"), str(place), "--lock", str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("events", "concerned"),
    [
        (({"introduced": "0"}, {"fixed": "2.32.4"}), True),
        (({"introduced": "0"}, {"fixed": "2.32.0"}), False),
        (({"introduced": "2.33"}, {"fixed": "2.34"}), False),
        (({"introduced": "2.0"}, {"last_affected": "2.32.0"}), True),
        (({"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "2.30"}, {"fixed": "2.40"}), True),
        (({"introduced": "0"},), True),
    ],
)
def test_a_version_lies_between_the_events_of_a_range(
    tmp_path: Path, events: tuple[dict[str, str], ...], concerned: bool
) -> None:
    code, said = audited(tmp_path, advisory("Requests", *events))
    assert code == int(concerned)
    assert ("requests 2.32.0: PYSEC-Requests" in said) is concerned


def test_what_was_withdrawn_or_is_of_another_world_counts_for_nothing(tmp_path: Path) -> None:
    gone = advisory("jinja2", {"introduced": "0"}, withdrawn="2026-01-01T00:00:00Z")
    other = advisory("psycopg", {"introduced": "0"})
    other["affected"][0]["package"]["ecosystem"] = "npm"
    assert audited(tmp_path, gone, other) == (0, "None of 2 advisories concerns the 3 packages installed.\n")


def test_versions_may_be_listed(tmp_path: Path) -> None:
    one = advisory("psycopg")
    one["affected"][0]["versions"] = ["3.2.1"]
    code, said = audited(tmp_path, one)
    assert (code, "psycopg 3.2.1" in said, "not mended yet" in said) == (1, True, True)


@pytest.mark.parametrize("content", [b"no zip", b""])
def test_a_file_that_holds_no_advisories_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "all.zip").write_bytes(content)
    (tmp_path / "a.lock").write_text(LOCK)
    code, said = run(tmp_path / "all.zip", tmp_path / "a.lock")
    assert (code, said.count("\n"), "Traceback" in said) == (2, 1, False)


def test_the_lock_file_that_ships_is_read(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(advisory("streamlit", {"introduced": "0"}, {"fixed": "9.0"})))
    code, said = run(tmp_path, DEPLOY / "requirements.lock")
    assert code == 1
    assert said.startswith("streamlit 1.67")
