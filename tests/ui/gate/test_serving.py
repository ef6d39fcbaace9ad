"""A server that is set up carelessly, or by a setting that does not exist, does not start."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sharing.configuration import DOCUMENT, document
from sharing.settings import PREFIXES, InvalidSettings, read_settings, variables
from tests.patience import PATIENCE_S
from tests.tools.source_files import ROOT
from ui.gate.serving import called, is_local


def started(home: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ui", "--server.headless=true", "--server.port=0", *options],
        cwd=ROOT,
        env={**os.environ, "HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("options", "environment"),
    [(["--server.address", "0.0.0.0"], {}), (["--server.address", "::"], {}), ([], {"SIZING_HOSTS": "sizing.acme"})],
)
def test_no_start_where_others_reach_it_and_nobody_logs_in(
    tmp_path: Path, options: list[str], environment: dict[str, str]
) -> None:
    refused = started(tmp_path, *options, **environment)
    assert refused.returncode == 2
    assert "can be reached by others, and nobody has to log in" in refused.stderr
    assert "SIZING_WITHOUT_LOGIN=yes" in refused.stderr
    assert "Dashboard at" not in refused.stdout


def test_no_start_with_a_setting_that_does_not_exist(tmp_path: Path) -> None:
    refused = started(tmp_path, SIZING_HOST="sizing.acme.com")
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == "SIZING_HOST is no setting of this product: did you mean SIZING_HOSTS?"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("SIZING_HOSTS", "https://sizing.acme.com", "without a scheme"),
        ("SIZING_WITHOUT_LOGIN", "true", "SIZING_WITHOUT_LOGIN: Input should be 'yes' or 'no'."),
        ("SIZING_PROBES", "10.0.0.0/99", "SIZING_PROBES"),
        ("SIZING_UPLOAD_MB", "0", "SIZING_UPLOAD_MB: Input should be greater than or equal to 1."),
        ("LIVE_SOURCE", "x", "did you mean LIVE_SOURCES?"),
    ],
)
def test_a_setting_that_cannot_be_is_a_sentence(name: str, value: str, sentence: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        read_settings({name: value})
    assert sentence in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_what_kubernetes_sets_for_a_service_is_no_setting() -> None:
    services = {"SIZING_SERVICE_HOST": "10.0.0.1", "SIZING_PORT": "tcp://10.0.0.1:80", "SIZING_PORT_80_TCP_ADDR": "x"}
    assert read_settings({**services, "SIZING_HOSTS": "a.acme.com, b.acme.com"}).hosts == ("a.acme.com", "b.acme.com")


def test_every_variable_that_the_product_reads_is_a_setting() -> None:
    """A variable with our prefix that no setting describes would be refused at the start."""
    packages = ("api", "collectors", "commandline", "pages", "reality", "sharing", "sizing", "ui")
    named = {name for package in packages for file in (ROOT / package).rglob("*.py") for name in _quoted(file)}
    assert named - {*PREFIXES} == variables().keys()


def _quoted(file: Path) -> set[str]:
    return set(re.findall(r'"((?:SIZING|SHARING|LIVE)_[A-Z_]+)"', file.read_text(encoding="utf-8")))


def test_names_of_this_machine() -> None:
    assert [is_local(name) for name in ("localhost", "127.0.0.1", "127.9.9.9", "::1")] == [True] * 4
    assert not any(map(is_local, ("0.0.0.0", "::", "10.0.0.1", "localhost.acme.com", "")))
    assert called("[::1]:8501") == "::1"
    assert [called(host) for host in ("", "a@b", "a/b", "a:99999", "[")] == [None] * 5


def test_the_reference_is_written_from_the_settings() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run python -m sharing.configuration"
