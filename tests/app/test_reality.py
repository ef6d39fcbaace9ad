"""Plan vs reality as a viewer sees it: the demo, another scenario, a file, a source that is down."""

import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from bench.server import free_port
from collectors.reading.observation import Observation, State
from sharing.form.link_versions import LINK_VERSION
from tests.app.conftest import OpenLink, started
from tests.app.pages_text import answer, problems
from tests.collectors.servers import Pages, recording, serving
from tests.patience import PATIENCE_S
from ui import sources
from ui.sources import KnownSource, LatestAnswer
from ui.sources.reading import registry

PAGE = "pages/reality.py"
DEMO = Path(__file__).parents[2] / "reality" / "data" / "demo_scenario.yaml"


def opened(app: AppTest) -> AppTest:
    return settled(app.switch_page(PAGE).run())


def settled(app: AppTest) -> AppTest:
    """Run on while the source is being read: pages do not wait for one."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if not any("hourglass" in (info.icon or "") for info in app.info):
            return app
        registry().latest.wait_for_all(PATIENCE_S)
        app.run()
    raise AssertionError("The source was never read.")


@pytest.fixture
def app(sources_folder: Path) -> AppTest:
    return started()


def write_source(folder: Path, **raw: object) -> None:
    (folder / "mine.yaml").write_text(yaml.safe_dump({"schema_version": 1, "name": "mine", **raw}))


def columns(app: AppTest, column: str):
    """The table with that column, whose head may be unbreakable where it wraps."""
    tables = (d.value.rename(columns=lambda head: head.replace("\xa0", " ")) for d in [*app.table, *app.dataframe])
    return next(table for table in tables if column in table)


def test_the_demo_is_compared_with_its_own_plan(app: AppTest) -> None:
    page = opened(app)
    assert not page.exception
    assert page.radio(key="scenario_from").value == "Plan of the demo"
    assert "Demo deployment as planned" in page.markdown[0].value
    assert answer(page)
    traffic = columns(page, "Planned")
    assert traffic["Quantity"].tolist()[0].startswith("Arrivals, highest")
    assert set(traffic["Verdict"]) <= {"as expected", "higher", "lower", "cannot judge"}
    assert next(m.value for m in page.metric if m.label == "GPUs") == "8 of 8"
    # Minutes in which more is asked than can be served are not judged; the demo has some at some hours of its day.
    assert any(re.search(r"in the (last )?(hour|\d+ min)", text.value) for text in page.markdown)
    page.radio(key="reality_view").set_value("Table").run()
    table = columns(page, "Predicted, 80 %")
    assert "TTFT at the server, p95" in table["Quantity"].tolist()


def test_the_scenario_on_size_is_another_deployment(app: AppTest) -> None:
    page = opened(app)
    page.radio(key="scenario_from").set_value("Scenario on Size").run()
    assert not page.exception
    assert answer(page).startswith("No verdict: this is not the planned deployment. Another engine runs: vLLM")
    assert set(columns(page, "Planned")["Verdict"]) == {"cannot judge"}
    assert next(m.value for m in page.metric if m.label == "As expected") == "unknown"


def test_what_is_compared_stands_in_the_address(sources_folder: Path, open_link: OpenLink) -> None:
    held = {"scenario_from": "Scenario on Size", "range": "15 min", "isl": "3000", "name": "Case 1"}
    page = settled(open_link(goto="reality", **held))
    assert not page.exception
    assert not any("link" in str(warning.icon) for warning in page.warning)
    assert page.query_params == {"v": LINK_VERSION, **held}
    assert page.radio(key="scenario_from").value == "Scenario on Size"
    assert "Case 1" in page.markdown[0].value
    page.switch_page("pages/size.py").run()
    assert page.text_input(key="isl").value == "3000"


def test_a_scenario_file_is_read_or_its_faults_are_said(app: AppTest) -> None:
    page = opened(app)
    page.radio(key="scenario_from").set_value("Scenario file").run()
    assert answer(page) == "", "nothing is compared before there is a file"
    upload = page.file_uploader(key="scenario_file")
    settled(upload.set_value([("plan.yaml", DEMO.read_bytes(), "application/yaml")]).run())
    assert answer(page)
    assert "No verdict: this is not" not in answer(page)
    upload = page.file_uploader(key="scenario_file")
    upload.set_value([("plan.yaml", b"model: nobody/none\nmodle: 1", "application/yaml")]).run()
    assert any("modle: unknown key. Did you mean model?" in text for text in problems(page))
    upload = page.file_uploader(key="scenario_file")
    upload.set_value(
        [
            (
                "plan.yaml",
                b"model: nobody/none\nworkload: {input_tokens: 1, output_tokens: 1, peak_rps: 1}",
                "application/yaml",
            )
        ]
    ).run()
    settled(page)
    assert any("Unknown model" in text for text in problems(page))
    assert not page.exception


def test_a_source_that_is_down_is_one_answer_without_numbers(sources_folder: Path, app: AppTest) -> None:
    write_source(sources_folder, prometheus={"url": f"http://127.0.0.1:{free_port()}", "timeout_s": 1})
    page = opened(app)
    assert not page.exception
    assert page.selectbox(key="source").value == "mine"
    assert answer(page).startswith("No verdict: mine cannot be reached.")
    assert columns(page, "Planned")["Measured"].eq("").all(), "unknown is not 0"
    values = {m.label: m.value for m in page.metric}
    assert (values["Queues grow from, requests/s"], values["Replicas"]) == ("unknown", "unknown")


def test_a_name_that_says_nothing_can_be_stated(sources_folder: Path, app: AppTest) -> None:
    with serving(Pages({"/metrics": recording("vllm_rate4").replace("tiny-llama", "chat")})) as server:
        where = {"targets": [f"{server.url}/metrics"], "interval_s": 0.5, "store": "ring.sqlite"}
        write_source(sources_folder, scrape=where)
        page = opened(app)
        assert "“chat” is served, which is not known to be" in answer(page)
        page.toggle(key="served_as_toggle").set_value(True).run()
        assert "is not known to be" not in answer(page)
        page.toggle(key="served_as_toggle").set_value(False).run()
        assert "is not known to be" in answer(page)
    assert not page.exception


def test_a_moment_in_the_past_without_data_is_said(app: AppTest) -> None:
    page = opened(app)
    past = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=30)
    page.datetime_input(key="until").set_value(past).run()
    settled(page)
    assert not page.exception
    assert answer(page).startswith("No verdict: Demo deployment has no data.")


def test_the_verdict_of_live_is_said_where_it_is_another(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    page, read = opened(app), sources.observed
    assert not any("Live says" in link.proto.label for link in page.get("page_link"))

    def overloaded(known: KnownSource, **window: Any) -> LatestAnswer[Observation]:
        answer = read(known, **window | {"wait_s": PATIENCE_S})
        return replace(answer, newest=answer.newest.model_copy(update={"state": State.SATURATED}))

    monkeypatch.setattr(sources, "observed", overloaded)
    (link,) = [link.proto for link in page.run().get("page_link") if "Live says" in link.proto.label]
    assert link.label == "Live says “Overloaded” of the last 5 minutes", "whole on a phone"
    assert link.page == "live"


def test_the_limits_come_first_with_a_way_to_size_again(app: AppTest) -> None:
    page = opened(app)
    headline = next(text.value for text in page.markdown if text.value.startswith("### "))
    assert "limit" in headline
    limits = columns(page, "Requests within")
    assert limits["Limit"].tolist() == ["p95 TTFT", "p95 TPOT"]
    assert set(limits["Verdict"]) <= {"met", "broken", "unclear"}
    assert columns(page, "Action")["Why"].str.len().min() > 10
    loads = [figure.label for figure in page.metric if "requests/s" in figure.label]
    assert loads == ["Load, requests/s", "Limits hold up to, requests/s", "Queues grow from, requests/s"]
    page.button(key="diagnosis_resize").click().run()
    assert not page.exception
    assert page.session_state["name"].endswith(", as measured")


def test_nothing_is_concluded_about_another_deployment(app: AppTest) -> None:
    page = opened(app)
    page.radio(key="scenario_from").set_value("Scenario on Size").run()
    page = settled(page)
    # The comparison says why there is no verdict, and the diagnosis does not say it again.
    (headline,) = (text.value for text in page.markdown if "Another engine runs" in text.value)
    assert headline.startswith("## No verdict\\: this is not the planned deployment.")
    assert not page.button or "diagnosis_resize" not in [button.key for button in page.button]
