import re
import tomllib
from pathlib import Path

import pytest

from sizing.base.version import ENGINE_VERSION, gives_the_figures_of

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.9.0", "0.9.3", True),
        ("0.9", "0.9.3", True),
        ("0.9.0", "0.10.0", False),
        ("1.9.0", "0.9.0", False),
        ("0.1.0", "0.9.0", None),
        ("0.1.0", "0.1.0", None),
        ("", "0.9.0", None),
        ("0.9.0-rc1", "0.9.0", None),
    ],
)
def test_figures_of_two_versions(one, other, same):
    assert gives_the_figures_of(one, other) is same
    assert gives_the_figures_of(other, one) is same


def test_today_is_told_apart_from_engines_whose_version_stood_still():
    assert gives_the_figures_of(ENGINE_VERSION, ENGINE_VERSION) is True
    assert gives_the_figures_of(ENGINE_VERSION, "0.1.0") is None


def test_the_package_has_the_version_of_the_engine():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in settings["project"]["dynamic"]
    where = settings["tool"]["hatch"]["version"]
    found = re.search(where["pattern"], (ROOT / where["path"]).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found["version"] == ENGINE_VERSION
