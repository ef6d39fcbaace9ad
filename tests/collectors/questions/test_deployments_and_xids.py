"""Which deployments a source has, and which XID errors its GPUs had when."""

import pytest

from collectors.questions.deployments import find_deployments
from collectors.questions.judged import read_judged
from collectors.questions.xids import MEANINGS, xid_log
from collectors.reading.observation import Observation, State
from collectors.source import Source, source_from
from tests.collectors.feeds import NOW, Feed, Page, steady

BASE = 'vllm:num_requests_running{{model_name="{model}",namespace="{space}"}} 3'
AT = '{{gpu="{n}",UUID="g{n}",Hostname="a"}}'
GPU = f"DCGM_FI_DEV_FB_USED{AT} 1\nDCGM_FI_DEV_XID_ERRORS{AT} {{xid}}\n"


def source(**more: object) -> Source:
    return source_from({"schema_version": 1, "scrape": {"targets": ["http://x/metrics"]}, **more})


def test_one_deployment_per_model_and_namespace_the_largest_first() -> None:
    feed = Feed(
        {
            "a:8000": steady(BASE.format(model="m", space="prod")),
            "b:8000": steady(BASE.format(model="m", space="prod")),
            "c:8000": steady(BASE.format(model="m", space="test")),
            "d:8000": steady(BASE.format(model="z", space="prod")),
        }
    )
    found = find_deployments(feed.backend, source(), clock=lambda: NOW)
    assert [(one.name, one.series) for one in found] == [("m, prod", 2), ("m, test", 1), ("z, prod", 1)]
    assert found[0].labels == {"model_name": "m", "namespace": "prod"}
    narrow = find_deployments(feed.backend, source(selector={"namespace": "test"}), clock=lambda: NOW)
    assert [one.name for one in narrow] == ["m, test"]


def test_a_source_without_an_engine_has_none() -> None:
    assert find_deployments(Feed({"a:9100": steady("node_load1 1")}).backend, source(), clock=lambda: NOW) == ()


def test_xids_are_events_with_their_moment_not_counts() -> None:
    def gpus(elapsed: float) -> str:
        codes = {0: 0, 1: 79 if elapsed >= 300 else 0, 2: 63, 3: 94 if elapsed < 200 else 48}
        return "".join(GPU.format(n=n, xid=code) for n, code in codes.items())

    feed = Feed({"a:8000": steady(BASE.format(model="m", space="s")), "a:9400": gpus})
    log = xid_log(feed.backend, source(), start_s=NOW - 500, end_s=NOW, clock=lambda: NOW)
    assert [(e.gpu, e.code, e.since_start) for e in log] == [
        ("1", 79, False),
        ("3", 48, False),
        ("2", 63, True),
        ("3", 94, True),
    ]
    assert abs(log[0].at_s - (NOW - 300)) <= 20
    assert log[0].host == "a"
    assert "fallen off the bus" in log[0].meaning
    assert all(text and not text.endswith(".") for text in MEANINGS.values())


def test_no_exporter_no_log() -> None:
    feed = Feed({"a:8000": steady(BASE.format(model="m", space="s"))})
    assert xid_log(feed.backend, source(), start_s=NOW - 500, end_s=NOW, clock=lambda: NOW) == ()


class TestJudged:
    """A window of which some minutes are saturated is read over the others."""

    @staticmethod
    def page(saturated: tuple[float, float]) -> Page:
        def page(elapsed: float) -> str:
            waiting = 9 if saturated[0] <= elapsed < saturated[1] else 0
            own = 'model_name="m"'
            return (
                f"vllm:num_requests_running{{{own}}} 8\nvllm:num_requests_waiting{{{own}}} {waiting}\n"
                f"vllm:time_to_first_token_seconds_count{{{own}}} {2 * elapsed}\n"
            )

        return page

    def read(self, saturated: tuple[float, float], window_s: float = 1800) -> Observation:
        feed = Feed({"a:8000": self.page(saturated)}, seconds=1900)
        source = source_from({"schema_version": 1, "scrape": {"targets": ["http://x"]}, "window_s": window_s})
        return read_judged(source, backend=feed.backend, clock=lambda: NOW)[0]

    @pytest.mark.parametrize(("saturated", "minutes"), [((400, 700), 20), ((1000, 1890), 15), ((100, 1200), 12)])
    def test_the_longest_stretch_without_them(self, saturated: tuple[float, float], minutes: float) -> None:
        seen = self.read(saturated)
        assert seen.state is not State.SATURATED
        assert seen.window_s == pytest.approx(60 * minutes, abs=70)
        assert any("of the 30 minutes: in the other minutes" in note for note in seen.notes)

    @pytest.mark.parametrize("saturated", [(0, 0), (0, 1900), (250, 1800)])
    def test_the_whole_window_where_none_or_all_are_or_the_rest_is_short(self, saturated: tuple[float, float]) -> None:
        assert self.read(saturated).window_s == 1800
