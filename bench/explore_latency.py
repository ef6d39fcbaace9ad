"""How long Explore takes: its page script after one changed input, by view, and the engine functions behind it."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from bench.page_latency import CHANGES, PRESET_KEY, ROOT, RUN_LIMIT_S, input_of, page_times, succeed
from bench.pages_under_test import as_in_a_server
from bench.table import Row
from bench.yardstick import Times, in_yardsticks
from sizing import Scenario
from sizing.explore.frontier import operating_points
from sizing.explore.length_map import gpus_over_lengths

NAME = "Explore: page script after one changed input, warm; frontier and length map in the engine"

PAGE = "pages/explore.py"
PAGE_LIMIT = in_yardsticks(quiet_ms=150.0)
"""Longest script run of the Explore page after a change."""
POINTS_LIMIT = in_yardsticks(quiet_ms=40.0)
"""Longest computation of all operating points."""
MAP_LIMIT = in_yardsticks(quiet_ms=1500.0)  # each cell is simulated as a plan is
RUNS = 9
"""Runs of each; their median is reported."""
PRESETS = ("chatbot", "reasoning", "nemo")
VIEWS = ("Latency against throughput", "Load curve", "Lengths", "What can this serve?", "Shared pool")
SHOWN = ("h100_sxm", "b200_sxm", "a100_sxm_80g", "mi300x", "gaudi3")
SCENARIO: dict[str, object] = {
    "model": "meta-llama/Meta-Llama-3-70B",
    "workload": {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31},
}


@as_in_a_server()
def run() -> list[Row]:
    """One row per preset and view, then the engine functions."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=RUN_LIMIT_S).run()
    app.switch_page(PAGE).run()
    rows = [_view(app, preset, view) for preset in PRESETS for view in VIEWS]
    return [*rows, *_engine()]


def _view(app: AppTest, preset: str, view: str) -> Row:
    succeed(app.selectbox(key=PRESET_KEY).select(preset).run())
    app.session_state["show"] = view
    succeed(app.run())
    key = input_of(app)
    before = int(app.text_input(key=key).value or 0)
    with page_times() as times:
        for step in range(1, CHANGES + 1):
            # A value not seen before: what is measured is an answer, not a cache.
            succeed(app.text_input(key=key).set_value(str(before + step)).run())
    return times.row(f"{preset}, {view}", None if view == "Shared pool" else PAGE_LIMIT)


def _engine() -> list[Row]:
    scenario = Scenario.model_validate(SCENARIO)
    prompts, outputs = [256.0 * 4**k for k in range(4)], [32.0 * 4**k for k in range(4)]
    return [
        _timed("operating points, 5 GPU types", POINTS_LIMIT, lambda: operating_points(scenario, gpus=SHOWN)),
        _timed("operating points, all GPU types", None, lambda: operating_points(scenario)),
        _timed("length map, 4 x 4", MAP_LIMIT, lambda: gpus_over_lengths(scenario, "h100_sxm", prompts, outputs)),
    ]


def _timed(what: str, limit: float | None, call: Callable[[], object]) -> Row:
    call()
    times = Times()
    for _ in range(RUNS):
        times.time(call)
    return times.row(what, limit)
