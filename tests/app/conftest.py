"""The app without a browser, started from app.py as a user would start it."""

import time
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bench.pages_under_test import as_in_a_server
from sharing.author import owner
from sharing.library import Library, open_library
from sharing.library.records import ScenarioDraft
from sizing import Scenario
from tests.patience import PATIENCE_S
from tests.sizing.asking import raw
from ui import state
from ui.size import jobs
from ui.sources import reading
from ui.sources.latest import Latest, LatestAnswer
from ui.sources.reading import REFRESH_S, Registry

APP = Path(__file__).parents[2] / "app.py"

MORE = ("more_workload", "more_limits", "more_hardware", "more_assumptions")
"""Parts of the form that are drawn once they are opened."""

OpenLink = Callable[..., AppTest]


def started(**parameters: str | list[str]) -> AppTest:
    """The app as a new session finds it that opens this link: the page in ``goto``, else the home page."""
    app = AppTest.from_file(str(APP), default_timeout=PATIENCE_S)
    for key, value in parameters.items():
        app.query_params[key] = value
    return app.run()


class Clock:
    """The clock of the registry: time passes by refreshes. It starts at a full minute, so that slots fall alike."""

    def __init__(self) -> None:
        self.now_s = time.time() // 60 * 60

    def __call__(self) -> float:
        return self.now_s

    def next(self) -> None:
        self.now_s += REFRESH_S


class WatchedLatest(Latest):
    """Remembers whether anybody was told that a question is still under way."""

    told_pending = False

    def peek(self, key: Hashable) -> LatestAnswer[Any]:
        answer = super().peek(key)
        self.told_pending |= answer.pending
        return answer


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """Pages answer by simulation from the first: the simulator is compiled, once on this machine."""
    state.warm_up().join()


@pytest.fixture(scope="session", autouse=True)
def runs_take_no_longer_than_in_a_server() -> Iterator[None]:
    with as_in_a_server():
        yield


@pytest.fixture(autouse=True)
def jobs_end_with_their_test() -> Iterator[None]:
    """What a page has started beside it would go on for minutes, beside the next tests."""
    yield
    for threads in (jobs._simulating, jobs._asking):
        if threads.cache_info().currsize:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(jobs, "PATIENCE_S", -1.0)
                threads().shutdown()
            threads.cache_clear()


def with_every_field(app: AppTest) -> AppTest:
    """The page with what stands behind a click of its form, too."""
    for key in MORE:
        app.session_state[key] = True
    return app.run()


def scenario(name: str = "kept", rate: float = 7.0) -> Scenario:
    """One to keep in a library."""
    return Scenario.model_validate({**raw(workload={"peak_rps": rate}), "name": name})


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """The library of the pages, a file of this test alone; empty."""
    monkeypatch.setenv("SHARING_DATABASE", str(tmp_path / "library.sqlite"))
    library = open_library()
    yield library
    library.close()


@pytest.fixture
def anns_library(library: Library) -> Library:
    """The library with a scenario of Ann's in it."""
    library.add(ScenarioDraft(scenario=scenario("Acme's secret")), by=owner("ann"))
    return library


@pytest.fixture
def app() -> AppTest:
    """The home page."""
    return started()


@pytest.fixture
def size(app: AppTest) -> AppTest:
    """The Size page, untouched, with every field of its form in sight."""
    return with_every_field(app.switch_page("pages/size.py"))


@pytest.fixture
def open_link() -> OpenLink:
    """Opens Size, or the page in ``goto``, by a link with these parameters, as a session that starts there does; every
    field of the form is in sight."""

    def opened(**parameters: str | list[str]) -> AppTest:
        return with_every_field(started(**({"goto": "size"} | parameters)))

    return opened


@pytest.fixture
def sources_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of source files, empty."""
    folder = tmp_path / "sources"
    folder.mkdir()
    monkeypatch.setenv("LIVE_SOURCES", str(folder))
    return folder


@pytest.fixture
def clock() -> Clock:
    """The clock that live pages go by; it stands still unless told."""
    return Clock()


@pytest.fixture
def registry(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """What live pages share: of this test alone."""
    fresh = Registry(clock=clock)
    object.__setattr__(fresh, "latest", WatchedLatest(clock=clock))
    monkeypatch.setattr(reading, "registry", lambda: fresh)
    yield fresh
    fresh.latest.wait_for_all(PATIENCE_S)
    fresh.connections.close()
