"""How long somebody waits after ``make run``: from the start of the process until a browser shows the first answer.

Beside it an empty page of Streamlit, whose time is Python's, Streamlit's and the browser's own. Both are opened in
turns, each by a server of its own.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.server import free_port
from bench.table import Row
from bench.yardstick import Times, in_yardsticks

NAME = "First answer: from the start of the server until a browser shows it, beside an empty page; needs Chromium"

ROOT = Path(__file__).parents[1]
RUNS = 5
LIMIT = in_yardsticks(quiet_ms=3000.0)
"""Longest wait for the first answer, with the simulator compiled before or not."""
GIVEN_UP_S = 120
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
EMPTY = 'import streamlit as st\n\nst.write("An empty page")\n'
EMPTY_SHOWN = re.compile("An empty page")
ANSWER_SHOWN = re.compile("Limited by:")
"""Stands in every answer, in an estimate, too."""


def run() -> list[Row]:
    """Time both pages in turns, then the first answer of a server that has nothing compiled."""
    empty, answer, uncompiled = Times(), Times(), Times()
    with browser() as opened, tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "empty.py"
        page.write_text(EMPTY, encoding="utf-8")
        streamlit, dashboard = ("streamlit", "run", str(page)), ("ui",)
        wait_ms(opened, dashboard, "size", ANSWER_SHOWN, {})  # bytecode and compiled code are on disk from here on
        for k in range(RUNS):
            empty.add(wait_ms(opened, streamlit, "", EMPTY_SHOWN, {}))
            answer.add(wait_ms(opened, dashboard, "size", ANSWER_SHOWN, {}))
            cache = {"NUMBA_CACHE_DIR": f"{folder}/compiled-{k}"}
            uncompiled.add(wait_ms(opened, dashboard, "size", ANSWER_SHOWN, cache))
    return [
        empty.row("empty page", unit="s"),
        answer.row("first answer", LIMIT, unit="s"),
        uncompiled.row("first answer, nothing compiled: the estimate", LIMIT, unit="s"),
    ]


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium that is running before anything is timed. Raises SystemExit where there is none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        raise SystemExit("This benchmark needs Chromium and Playwright: make test installs both.")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


def wait_ms(opened: Any, module: Sequence[str], path: str, shown: re.Pattern[str], settings: dict[str, str]) -> float:
    """Milliseconds from the start of a server until a fresh session of the browser shows what matches ``shown``."""
    from playwright.sync_api import expect

    port = free_port()
    session = opened.new_context(viewport={"width": 1440, "height": 900})
    page = session.new_page()
    with tempfile.TemporaryDirectory() as home:
        # Bytecode is kept, as by make run; the settings are the project's own, not the user's.
        environment = {**os.environ, "HOME": home, "PYTHONDONTWRITEBYTECODE": "", **settings}
        command = [sys.executable, "-m", *module, "--server.headless=true", f"--server.port={port}"]
        start = time.perf_counter()
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as server:
            try:
                while not listening(port):
                    time.sleep(0.01)
                page.goto(f"http://localhost:{port}/{path}", wait_until="commit")
                expect(page.get_by_text(shown).first).to_be_visible(timeout=1000 * GIVEN_UP_S)
                return 1000 * (time.perf_counter() - start)
            finally:
                session.close()
                server.terminate()


def listening(port: int) -> bool:
    """Whether a server accepts connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
