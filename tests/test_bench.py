"""``python -m bench``: what it runs is named, all benchmarks together would take very long."""

import pytest

from bench import __main__ as bench
from bench.table import Row
from commandline.run import INVALID_INPUT


class Quick:
    NAME = "Quick: nothing at all"

    def run(self) -> list[Row]:
        return [Row(what="time", unit="ms", samples=(1.0,))]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "benchmarks", lambda: {"quick": Quick(), "slower": Quick()})


@pytest.mark.parametrize(
    ("names", "code", "sentence"),
    [([], 0, "Name one or more benchmarks."), (["quick", "odd"], INVALID_INPUT, "No benchmark is named odd.")],
)
def test_without_a_known_name_the_names_are_listed(
    names: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(names) == code
    listed = f"{sentence} There are:\n  quick   Quick: nothing at all\n  slower  Quick: nothing at all\n"
    assert capsys.readouterr() == ((listed, "") if code == 0 else ("", listed))


def test_a_named_benchmark_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["quick"]) == 0
    assert capsys.readouterr().out.count("Quick: nothing at all") == 1
