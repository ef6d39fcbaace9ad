"""What comparisons need to run against: a real Prometheus that holds some of the demo's day."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from collectors.demo.feed import DemoFeed
from tests.collectors.servers import running_prometheus, write_blocks
from tests.reality.truths import HOUR


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A Prometheus with a quarter of an hour of the demo from 09:57 to 10:12 of its day, ending at ``end_s``."""

    url: str
    end_s: float


@pytest.fixture(scope="module")
def recorded_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        pytest.skip("Prometheus is not installed")
    folder, now = tmp_path_factory.mktemp("prometheus"), float(int(time.time()))
    feed = DemoFeed(hours=0.3, second_of_day=10.2 * HOUR, clock=lambda: now)
    write_blocks(folder, feed, start_s=now - HOUR, end_s=now)
    with running_prometheus(folder) as prometheus:
        yield Recorded(url=prometheus.url, end_s=now)
