"""The demo's lost replica: named with its XID error and since when, and what it would take to restore it."""

from collectors.demo.feed import DemoFeed
from reality.diagnosis.diagnose import diagnose_source
from reality.diagnosis.sentences import as_text
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.scenario.file import load_scenario
from tests.reality.truths import DEMO_SCENARIO, HOUR, NOW

# demo-3 is lost at 13:30 of the demo's day; the window ends ten minutes later.
FEED = DemoFeed(hours=1.0, second_of_day=(13.5 + 1 / 6) * HOUR, clock=lambda: NOW)


def test_the_headline_says_which_since_when_and_why() -> None:
    answer = Answer.of(load_scenario(DEMO_SCENARIO), analytic_plan)
    said = diagnose_source(
        answer, FEED.source(), planner=analytic_plan, backend=FEED.backend, clock=lambda: NOW, window_s=300.0
    )
    lost = next(row for row in said.causes if row.cause == "replicas")
    assert (lost.subject, lost.why) == ("demo-3", "XID 79 on its GPU")
    assert f"Cause: demo-3 is gone since {lost.since[11:16]} UTC (XID 79 on its GPU), " in said.headline
    assert "Restore demo-3" in said.headline
    assert said.actions[0].kind == "restore"
    assert said.actions[0].why.startswith("1 of 4 planned replicas is gone (demo-3, XID 79 on its GPU).")
    assert said.replanned.same_configuration
    assert said.replanned.more_instances == 0
    text = as_text(said)
    assert "demo-3 is gone" in text
    assert "Planned anew for this traffic: 4 x " in text
    left = next(row for row in said.causes if row.cause == "unexplained")
    assert left.why in text
