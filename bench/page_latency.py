"""How long a page's own script takes after one changed input: the part of a click that is ours.

The browser adds 160-220 ms that no page can change. AppTest adds its own set-up and teardown, so the clock runs around
the page itself, inside the run.
"""

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock

from streamlit.navigation.page import StreamlitPage
from streamlit.testing.v1 import AppTest

from bench.library import fill
from bench.pages_under_test import as_in_a_server
from bench.table import Row
from bench.yardstick import Times, in_yardsticks
from sharing.library import open_library
from sharing.library.database import VARIABLE
from ui import state

NAME = "Page latency: page script after one changed input, warm; presets with every GPU type and format considered"

ROOT = Path(__file__).parents[1]
PAGE = "pages/size.py"
PRESET_KEY = "preset"
INPUT_KEYS = ("osl", "s_answer")
CHANGES = 7
"""Changes of an input that are timed; their median is reported."""
LIMIT = in_yardsticks(quiet_ms=100.0)
"""Longest run of Size after a change, simulation of the plan included: the promise is one about the median over the
presets, each of which is shown beside it."""
SCENARIOS_PAGE = "pages/scenarios.py"
OTHER_PAGES = {"Compare": "pages/compare.py", "Cost": "pages/cost.py"}
"""Pages that work out more than the answer of Size, with the preset that an empty form holds."""
OTHER_LIMIT = in_yardsticks(quiet_ms=150.0)
"""Longest run of these after a change: on Compare a variant is sized, too."""
LIBRARY_LIMIT = in_yardsticks(quiet_ms=200.0)
"""Longest run of Scenarios after a change, with a library of 10,000."""
FIRST_LIMIT = in_yardsticks(quiet_ms=3000.0)
"""Longest first run of the page, which loads the engine."""
RUN_LIMIT_S = 60
"""Time after which a run counts as hung."""


@contextmanager
def page_times() -> Iterator[Times]:
    """The duration of each page script that runs inside the context."""
    times = Times()
    original = StreamlitPage.run

    def timed(page: StreamlitPage) -> None:
        start = time.perf_counter()
        try:
            original(page)
        finally:
            times.add(1000 * (time.perf_counter() - start))

    with mock.patch.object(StreamlitPage, "run", timed):
        yield times


@as_in_a_server()
def run() -> list[Row]:
    """First answer after the start, then one row for each preset and other page: several changes of one input."""
    first, start = Times(), time.perf_counter()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=RUN_LIMIT_S).run()
    succeed(app.switch_page(PAGE).run())
    first.add(1000 * (time.perf_counter() - start))
    presets = app.selectbox(key=PRESET_KEY).options
    opened = first.row("first answer, imports included", FIRST_LIMIT)
    _wait_until_loaded()
    others = [_on_page(app, name) for name in OTHER_PAGES]
    succeed(app.switch_page(PAGE).run())
    library = _scenarios()
    each = [_after_changes(app, index, preset) for index, preset in enumerate(presets)]
    return [opened, *others, library, _over_all(each), *each]


def _wait_until_loaded() -> None:
    """Wait for what a server loads beside its first pages: it would run beside what is timed warm."""
    state.warm_up().join(RUN_LIMIT_S)
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(RUN_LIMIT_S)


def _on_page(app: AppTest, name: str) -> Row:
    succeed(app.switch_page(OTHER_PAGES[name]).run())
    return _changed(app).row(name, OTHER_LIMIT)


def _scenarios() -> Row:
    """Another search of a full library each time, one of them for everything."""
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "library.sqlite")
        with closing(open_library(place)) as library:
            fill(library)
        with mock.patch.dict(os.environ, {VARIABLE: place}):
            app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=RUN_LIMIT_S).run()
            succeed(app.switch_page(SCENARIOS_PAGE).run())
            with page_times() as times:
                for step in range(CHANGES):
                    succeed(app.text_input(key="scenarios_text").set_value(f"case {step}" if step else "").run())
    return times.row("Scenarios, 10,000 of them", LIBRARY_LIMIT)


def _after_changes(app: AppTest, index: int, preset: str) -> Row:
    succeed(app.selectbox(key=PRESET_KEY).select_index(index).run())
    app.session_state["accurate"] = False  # nothing ruled out: every GPU type and format
    succeed(app.multiselect(key="gpu").set_value([]).run())
    return _changed(app).row(f"Size, {preset}")


def _over_all(presets: list[Row]) -> Row:
    """One sample from each preset: its median."""
    return Row(
        what="Size, median over the presets",
        unit="ms",
        samples=tuple(row.median for row in presets),
        beside_ms=tuple(statistics.median(row.beside_ms) for row in presets),
        limit=LIMIT,
    )


def _changed(app: AppTest) -> Times:
    """Times of the page script, each after a change of the input."""
    key = input_of(app)
    before = int(app.text_input(key=key).value or 0)
    with page_times() as times:
        for step in range(1, CHANGES + 1):
            # A value not seen before: what is measured is an answer, not a cache.
            succeed(app.text_input(key=key).set_value(str(before + step)).run())
    return times


def input_of(app: AppTest) -> str:
    """The field of the answer's length: sessions have one of their own."""
    return next(key for key in INPUT_KEYS if any(one.key == key for one in app.text_input))


def succeed(app: AppTest) -> None:
    """Raises RuntimeError where the run of a page ended in an exception: its time would say nothing."""
    if app.exception:
        raise RuntimeError(f"A page failed: {app.exception[0].value}")
