"""What a frozen link keeps of a version, and today's answer beside it: no money that was not released."""

from datetime import UTC, datetime

import pytest

from sharing.author import owner
from sharing.library import open_library
from sharing.library.records import Project, ScenarioDraft, figures_of
from sharing.links.freezing import frozen, today
from sharing.report.content import Fact, Facts, Released, Report
from sharing.report.engines import engines
from sizing import ENGINE_VERSION, plan
from tests.commands import run
from tests.sharing.report_cases import OWN_PRICE, scenario

MADE_AT = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SHARING_DATABASE", str(tmp_path / "library.sqlite"))


@pytest.fixture
def version(place):
    library = open_library()
    draft = ScenarioDraft(scenario=scenario("own prices"), project=Project(name="Quotes", customer="Acme"))
    yield library.add(draft, by=owner("ann"))
    library.close()


@pytest.mark.parametrize("released", [Released.NOTHING, Released.LIST_PRICES])
def test_prices_that_are_not_released_are_nowhere(version, released):
    report = frozen(version, released, made_at=MADE_AT, author="ann")
    now = today(report, version)
    for text in (report.model_dump_json(), str(now)):
        assert not OWN_PRICE.search(text)
        assert released is not Released.NOTHING or "$" not in text
    assert (report.customer, report.author, report.released) == ("Acme", "ann", released)
    assert now.differing == 0
    assert {"GPUs", "p95 TTFT"} <= {one.label for one in now.figures}
    assert ("Hardware a month" in {one.label for one in now.figures}) is (released is Released.LIST_PRICES)


def test_what_differs_today_is_seen(version):
    report = frozen(version, Released.NOTHING, made_at=MADE_AT, author="ann")
    (first, *others) = report.sections
    blocks = tuple(
        Facts(facts=(Fact(label="GPUs", value="99"), Fact(label="Gone", value="1"), *block.facts[1:]))
        if isinstance(block, Facts)
        else block
        for block in first.blocks
    )
    stored = report.model_copy(update={"sections": (first.model_copy(update={"blocks": blocks}), *others)})
    now = today(stored, version)
    changed = {one.label: (one.stored, one.today) for one in now.figures if one.stored != one.today}
    assert changed.keys() == {"GPUs", "Gone"}
    assert changed["GPUs"][0] == "99"
    assert changed["Gone"] == ("1", "")
    assert now.differing == 2


@pytest.mark.parametrize(
    ("then", "now", "between"),
    [
        ("0.9.0", "0.9.4", "no results changed between them."),
        ("0.10.0", "0.10.1", "no results changed between them."),
        ("0.9.0", "0.10.0", "; results changed between them."),
        ("1.9.0", "0.9.0", "; results changed between them."),
        ("0.1.0", "0.9.0", "; results may have changed between them, which these versions do not tell."),
        ("a <b>", "0.9.0", "; results may have changed between them, which these versions do not tell."),
    ],
)
def test_two_engines_are_told_apart_in_one_sentence(then, now, between):
    sentence = engines(then, now)
    assert sentence.startswith(f"Engine {then} answered then and engine {now} answers now; ")
    assert sentence.endswith(between)


@pytest.mark.parametrize("then", ["", ENGINE_VERSION])
def test_of_one_engine_nothing_is_said(then):
    assert engines(then) == ""


def test_a_report_and_a_saved_version_name_the_engine_that_answered(version):
    report = frozen(version, Released.NOTHING, made_at=MADE_AT, author="ann")
    assert report.engine_version == ENGINE_VERSION
    assert Report.model_validate_json(report.model_dump_json()) == report
    assert figures_of(plan(version.scenario())).engine_version == ENGINE_VERSION


def test_made_listed_and_revoked_on_the_command_line(version):
    done = run("sharing", "link", "with a quote", "--frozen", "--expires", "30d", "--base", "https://a.example.com")
    assert done.stdout.startswith("https://a.example.com/shared?token=")
    assert done.stderr == "Link 1: copy the address now, it is kept nowhere.\n"
    (_, line) = run("sharing", "links", "1").stdout.splitlines()
    assert "nothing" in line
    assert "  open  " in line
    assert line.rstrip().endswith(ENGINE_VERSION)
    assert run("sharing", "revoke", "1").stdout.startswith("Link 1 shows nothing since ")
    assert "  revoked  " in run("sharing", "links", "1").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("link", "1", "--expires", "30d"), "belong to a link that is --frozen"),
        (("link", "1", "--prices", "own"), "belong to a link that is --frozen"),
        (("link", "1", "--frozen", "--expires", "soon"), "soon is no time"),
        (("link", "1", "--frozen", "--expires", "0d"), "0d is no time"),
        (("link", "1", "--frozen", "--expires", "99999w"), "99999w is no time"),
        (("link", "a.yaml", "--frozen"), "A frozen link is to a scenario in the library"),
        (("link", "1", "--frozen", "--base", "x"), "x is not where a dashboard answers"),
        (("link", "7", "--frozen"), "The library has no scenario 7."),
        (("links", "nobody"), "No scenario is called nobody"),
        (("revoke", "7"), "There is no link 7."),
    ],
)
def test_what_cannot_be_done_is_said(place, arguments, sentence):
    done = run("sharing", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_a_password_from_stdin(version, monkeypatch):
    import io

    for text, sentence in (("\n", "There is no password on stdin"), ("short\n", "A password has 8 to 200 characters")):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert sentence in run("sharing", "link", "1", "--frozen", "--password-stdin").stderr
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    assert run("sharing", "link", "1", "--frozen", "--password-stdin").returncode == 0
    assert "  yes  " in run("sharing", "links", "1").stdout
