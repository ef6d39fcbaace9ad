"""Rules for every test: skips are listed loudly and count as failures in CI; hypothesis is repeatable there."""

import gc
import os
import sys
from collections.abc import Iterator

import hypothesis
import pytest

# Nothing is measured in seconds: on a busy machine an example takes any time.
UNTIMED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
# The same examples in every run, and no database of earlier failures: the same commit gets the same verdict.
hypothesis.settings.register_profile("standard", **UNTIMED, max_examples=10, derandomize=True, database=None)
hypothesis.settings.register_profile("thorough", **UNTIMED, max_examples=300)
hypothesis.settings.load_profile("standard")

MOST_PROCESSES = 8
"""Chosen: each may hold a browser, a dashboard and the kernel tables, about 2 GB."""

MAIN_MODULE = sys.modules["__main__"]

IN_CI = os.environ.get("CI") == "true"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew-golden", action="store_true", help="write today's answers to the golden files instead of comparing"
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays to the end: garbage is not looked for in it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Processes of ``-n auto``: one more than there are cores, since journeys in the browser mostly wait."""
    return min((os.cpu_count() or 1) + 1, MOST_PROCESSES)


@pytest.fixture(scope="session", autouse=True)
def library_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A scenario library of their own: that of the user is none of their business."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHARING_DATABASE", str(tmp_path_factory.mktemp("library") / "library.sqlite"))
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """A page that a test ran took the place of ``__main__``, which every process started later would run, too: those of
    the next test's fixtures among them, whatever their scope."""
    sys.modules["__main__"] = MAIN_MODULE


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """The same of a page that a fixture ran."""
    sys.modules["__main__"] = MAIN_MODULE


@pytest.fixture
def renew_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--renew-golden"))


def skipped_tests(config: pytest.Config) -> list[tuple[str, str]]:
    """Each skipped test, or module, with its reason."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return []
    skipped = []
    for report in reporter.stats.get("skipped", []):
        # A skip carries (path, line, "Skipped: reason").
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        skipped.append((report.nodeid, reason.removeprefix("Skipped: ")))
    return sorted(skipped)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    skipped = skipped_tests(config)
    if not skipped:
        return
    verdict = "a failure, because CI=true" if IN_CI else "what they check is NOT known to work"
    terminalreporter.section(f"{len(skipped)} SKIPPED: {verdict}", sep="!", red=True, bold=True)
    for nodeid, reason in skipped:
        terminalreporter.line(f"SKIPPED {nodeid}: {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if IN_CI and session.exitstatus == pytest.ExitCode.OK and skipped_tests(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
