"""The thread that scrapes, in a process that ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.collectors.servers import Pages, serving

ROOT = Path(__file__).parents[4]

ENDING = """
import atexit, sys, time
from collectors.connect import scraping
from collectors.source import source_from

source = source_from({"schema_version": 1, "name": "x", "scrape": {"targets": [sys.argv[1]], "store": sys.argv[2]}})
session = scraping(source, source.scrape.model_copy(update={"interval_s": 0.02}))
atexit.register(time.sleep, 1.0)  # the interpreter is ending, and the thread still scrapes
session.scraper.start()
while len(session.ring.times(0.0, time.time() + 1.0)) < 2:
    time.sleep(0.02)
"""


def test_a_process_that_ends_while_it_scrapes_says_nothing(tmp_path: Path) -> None:
    with serving(Pages({"/metrics": "up_total 1\nvllm:num_requests_running 1\n"})) as server:
        done = subprocess.run(
            [sys.executable, "-c", ENDING, f"{server.url}/metrics", str(tmp_path / "ring.sqlite")],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
