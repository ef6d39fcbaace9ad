"""What the process says of itself: figures that a Prometheus reads, a board of them, and a log that a machine reads."""

import json
import logging
import re
from collections.abc import Iterator

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.deploy.files import DEPLOY
from tests.ui.gate.test_requests import asked
from ui.observed import figures, log
from ui.work import counted

OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


def scraped() -> dict[str, float]:
    """Every sample by its name and labels, as a Prometheus that asks for OpenMetrics reads it."""
    answer = asked().get(figures.PATH, headers=OPENMETRICS)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    return {
        f"{sample.name}{sorted(sample.labels.items())}": float(sample.value)
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_figures_are_for_this_machine_and_the_networks_of_the_settings() -> None:
    assert asked(client="10.1.2.3").get(figures.PATH).status_code == 403
    assert asked(client="10.1.2.3", SIZING_PROBES="10.0.0.0/8").get(figures.PATH).status_code == 200
    assert asked().get(figures.PATH, headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 403


def test_a_page_is_timed_and_a_bug_counted() -> None:
    before = scraped()
    with figures.watched("size"):
        pass
    with pytest.raises(ZeroDivisionError), figures.watched("size"):
        _ = 1 / 0
    after = scraped()
    runs, bugs = "sizing_page_seconds_count[('page', 'size')]", "sizing_pages_failed_total[('page', 'size')]"
    assert after[runs] - before.get(runs, 0.0) == 2.0
    assert after[bugs] - before.get(bugs, 0.0) == 1.0


def test_streamlits_way_to_stop_a_script_is_no_bug() -> None:
    from streamlit.runtime.scriptrunner_utils.exceptions import StopException

    before = scraped()
    with pytest.raises(StopException), figures.watched("cost"):
        raise StopException
    key = "sizing_pages_failed_total[('page', 'cost')]"
    assert scraped().get(key, 0.0) == before.get(key, 0.0)


def test_a_refusal_is_counted() -> None:
    key = "sizing_requests_refused_total[('status', '421')]"
    before = scraped().get(key, 0.0)
    asked().get("/", headers={"Host": "evil.example"})
    assert scraped()[key] == before + 1.0


def test_every_figure_of_the_board_is_one_of_the_process() -> None:
    board = json.loads((DEPLOY / "grafana" / "inference-sizing.json").read_text())
    expressions = " ".join(target["expr"] for panel in board["panels"] for target in panel["targets"])
    counted._counted()
    named = set(re.findall(r"\b(?:sizing|process)_\w+", expressions))
    with figures.watched("size"):
        pass
    figures.REFUSED.labels("421").inc()
    figures.SOURCE_ERRORS.labels("Unreachable").inc()
    figures.PAGES_FAILED.labels("size").inc(0)
    figures.LOGGED.labels("ui", "WARNING").inc(0)
    known = {key.partition("[")[0] for key in scraped()}
    assert named
    assert named <= known


def test_figures_hold_no_session_and_nothing_that_was_typed() -> None:
    labels = {name for key in scraped() for name in re.findall(r"\('(\w+)', ", key)}
    assert labels <= {"page", "status", "kind", "le", "logger", "level", "version", "answer", "why", "are"}


@pytest.fixture
def loggers() -> Iterator[None]:
    """Every logger is as before afterwards."""
    before = {name: logging.getLogger(name) for name in (*log._OURS, *logging.Logger.manager.loggerDict)}
    kept = {name: (one.handlers[:], one.level, one.propagate) for name, one in before.items()}
    yield
    for name, (handlers, level, propagate) in kept.items():
        before[name].handlers[:], before[name].level, before[name].propagate = handlers, level, propagate


def test_a_record_is_a_line_of_json_with_its_request(loggers: None, capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up_log("json")
    log.request_id("from-the-proxy.1")
    logging.getLogger("ui.gate.requests").warning("Refused %s", '/size\n{"level": "forged"}')
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        logging.getLogger("sharing.library").exception("Failed")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["logger"], first["request"]) == ("WARNING", "ui.gate.requests", "from-the-proxy.1")
    assert first["message"] == 'Refused /size\n{"level": "forged"}'
    assert "ZeroDivisionError" in second["exc_info"]


def test_a_terminal_sees_problems_alone(loggers: None, capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up_log("text")
    logging.getLogger("sharing.audit").info("saved: scenario 1 by ann")
    logging.getLogger("ui.gate.requests").warning("Refused /size")
    assert [line.partition("WARNING ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "ui.gate.requests: Refused /size"
    ]


@pytest.mark.parametrize("given", [None, "", "a b", "x" * 65, "id\r\nSet-Cookie: a=b", "é"])
def test_an_id_that_is_none_gets_a_new_one(given: str | None) -> None:
    assert re.fullmatch("[0-9a-f]{32}", log.request_id(given))


def test_an_answer_says_its_request() -> None:
    assert asked().get("/size", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert len(asked().get("/size").headers["x-request-id"]) == 32


def test_a_session_is_called_by_a_digest() -> None:
    assert re.fullmatch("[0-9a-f]{12}", log.session_digest("3f0c1f9e-secret"))
