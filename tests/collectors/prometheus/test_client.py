"""The Prometheus client: recorded answers of Prometheus 2.42, 3.5 and VictoriaMetrics, and every way to fail."""

import math

import pytest

from bench.server import free_port
from collectors.errors import (
    AccessDenied,
    QueryRejected,
    Redirected,
    ServerFailed,
    SourceError,
    TimedOut,
    TooLarge,
    TooManyRequests,
    Unreachable,
    UnusableAnswer,
)
from collectors.prometheus import Clock, Fetcher, FetchLimits, PrometheusClient
from collectors.prometheus.answers import seconds_of
from tests.collectors.prometheus.clients import answering, client_of
from tests.collectors.servers import RECORDINGS, Asked, Server, Told, recorded, serving, success, vector


@pytest.mark.parametrize("flavour", ["prom_api", "vm_api"])
def test_empty_answer_has_no_samples(server: Server, flavour: str) -> None:
    assert answering(server, recorded(f"{flavour}/probe_empty_ok.json")).query("x").samples == ()


def test_infinity_and_nan_are_kept(server: Server) -> None:
    assert answering(server, recorded("prom_api/probe_inf_value.json")).query("x").samples[0].value == math.inf
    assert math.isnan(answering(server, recorded("prom_api/probe_nan_value.json")).query("x").samples[0].value)


@pytest.mark.parametrize("flavour", ["prom_api", "vm_api"])
def test_scalar_is_one_sample(server: Server, flavour: str) -> None:
    (sample,) = answering(server, recorded(f"{flavour}/probe_scalar.json")).query("1+1").samples
    assert (sample.value, dict(sample.labels)) == (2.0, {})


def test_native_histogram_is_read(server: Server) -> None:
    (sample,) = answering(server, recorded("prom3_api/instant_nhcb_instant.json")).query("x").samples
    assert sample.histogram.count == 336
    assert sum(b.count for b in sample.histogram.buckets) == 336


def test_warnings_and_infos_travel_with_the_answer(server: Server) -> None:
    notes = answering(server, recorded("prom3_api/instant_warn_q.json")).query("x").notes
    assert "quantile value should be between 0 and 1" in notes.warnings[0]
    assert not notes.partial
    assert answering(server, recorded("prom3_api/instant_info_rate_on_gauge.json")).query("x").notes.infos


def test_partial_answers_of_thanos_and_victoriametrics_are_marked(server: Server) -> None:
    empty = {"resultType": "vector", "result": []}
    thanos = answering(server, success(empty, warnings=["store 10.0.0.3:10901: connection refused"]))
    assert thanos.query("x").notes.partial
    assert answering(server, success(empty, isPartial=True)).query("x").notes.partial


@pytest.mark.parametrize("flavour", ["prom_api", "vm_api"])
@pytest.mark.parametrize("case", ["err_parse_400", "err_exec_422", "err_many_to_many_422", "err_resolution_11000"])
def test_rejected_query_says_what_the_server_said(server: Server, flavour: str, case: str) -> None:
    client = answering(server, recorded(f"{flavour}/probe_{case}.json"))
    with pytest.raises(QueryRejected, match=r"parse|regex|many-to-many|duplicate|resolution|points|unexpected|regular"):
        client.query("x")
    assert len(server.asked) == 1  # never repeated


def test_range_query_aligns_and_keeps_to_a_thousand_points(server: Server) -> None:
    client = answering(server, recorded("prom_api/range_running.json"))
    matrix = client.query_range("up", start_s=1_800_000_003, end_s=1_800_000_003 + 7 * 86400)
    form = server.asked[-1].form
    step = float(form["step"][0])
    assert server.asked[-1].method == "POST"
    assert 7 * 86400 / step < 1000
    assert float(form["start"][0]) % step == 0
    assert matrix.series[0].values


def test_gap_in_a_range_stays_a_gap(server: Server) -> None:
    result = [{"metric": {}, "values": [[100, "1"], [110, "2"], [140, "3"]]}]
    client = answering(server, success({"resultType": "matrix", "result": result}))
    (series,) = client.query_range("x", start_s=100, end_s=140, step_s=10).series
    _, values = series.on_grid(100, 140, 10)
    assert values[:2] == (1, 2)
    assert all(math.isnan(v) for v in values[2:4])


@pytest.mark.parametrize(
    ("told", "error"),
    [
        (Told(status=401), AccessDenied),
        (Told(status=403), AccessDenied),
        (Told(status=429), TooManyRequests),
        (Told(status=500), ServerFailed),
        (Told(status=503), ServerFailed),
        (Told(status=404), UnusableAnswer),
        (Told(status=405), UnusableAnswer),
        (Told(status=501), UnusableAnswer),
        (Told(body=b"<html><body>Sign in</body></html>", content_type="text/html"), UnusableAnswer),
        (Told(body=b'{"status": "success", "data": {"resultType": "vector", "resu'), UnusableAnswer),
        (Told(body=b'{"status": "success"', claim_bytes=400), UnusableAnswer),
        (Told(body=b'{"hello": "world"}'), UnusableAnswer),
        (Told(body=b"[1, 2]"), UnusableAnswer),
        (Told(body=b'{"status": "success", "data": {"resultType": "vector", "result": 3}}'), UnusableAnswer),
        (success({"resultType": "vector", "result": [{"metric": {}, "value": [1]}]}), UnusableAnswer),
        (success({"resultType": "vector", "result": [{"metric": {}, "value": [1, "x"]}]}), UnusableAnswer),
        (Told(body=b"[" * 100_000), UnusableAnswer),
    ],
)
def test_every_bad_answer_is_one_sentence(server: Server, told: Told, error: type[SourceError]) -> None:
    with pytest.raises(error) as raised:
        answering(server, told).query("up")
    assert "\n" not in str(raised.value)
    assert f"127.0.0.1:{server.port}" in str(raised.value)


def test_gateway_error_is_tried_once_more(server: Server) -> None:
    client = answering(server, Told(status=503), vector(({}, 7)))
    assert client.query("up").samples[0].value == 7
    assert len(server.asked) == 2


def test_retry_waits_with_jitter_and_honours_retry_after(server: Server) -> None:
    waits: list[float] = []
    left = [Told(status=429, headers={"Retry-After": "2"}), Told(status=502), vector(({}, 7))]
    server.answer = lambda asked: left.pop(0)
    fetcher = Fetcher(limits=FetchLimits(timeout_s=30, attempts=3), clock=Clock(wait=waits.append, jitter=lambda: 0.5))
    assert PrometheusClient(server.url, fetcher=fetcher).query("up").samples
    assert waits == [2.0, 0.5]


def test_long_retry_after_is_not_waited_for(server: Server) -> None:
    client = answering(server, Told(status=429, headers={"Retry-After": "3600"}), vector(({}, 7)))
    with pytest.raises(TooManyRequests):
        client.query("up")


def test_slow_answer_is_a_time_out(server: Server) -> None:
    server.answer = lambda asked: Told(pause_s=1.5)
    client = client_of(server.url, limits=FetchLimits(timeout_s=0.3))
    with pytest.raises(TimedOut, match=r"0\.3 s"):
        client.query("up")


def test_dripping_answer_is_cut_at_the_total_time_out() -> None:
    ticks = iter(range(100))
    fetcher = Fetcher(limits=FetchLimits(timeout_s=3), clock=Clock(monotonic=lambda: float(next(ticks))))
    with serving(lambda asked: Told(body=b" " * 1_000_000)) as server, pytest.raises(TimedOut):
        PrometheusClient(server.url, fetcher=fetcher).query("up")


def test_huge_answer_is_cut(server: Server) -> None:
    server.answer = lambda asked: Told(body=b"x" * 3_000_000)
    with pytest.raises(TooLarge, match="1 MiB"):
        client_of(server.url, limits=FetchLimits(max_bytes=1 << 20)).query("up")


def test_nothing_listening_and_no_dns() -> None:
    with pytest.raises(Unreachable, match="refused"):
        client_of(f"http://127.0.0.1:{free_port()}").query("up")
    with pytest.raises(Unreachable, match="DNS"):
        client_of("http://no-such-host.invalid:9090").query("up")


def test_redirect_to_another_host_is_not_followed(server: Server) -> None:
    with serving(lambda asked: vector(({}, 1))) as elsewhere:
        target = elsewhere.url.replace("127.0.0.1", "localhost")
        client = answering(server, Told(status=302, headers={"Location": f"{target}/api/v1/query"}))
        with pytest.raises(Redirected, match="localhost"):
            client.query("up")
        assert not elsewhere.asked


def test_redirect_on_the_same_host_keeps_the_query(server: Server) -> None:
    def answer(asked: Asked) -> Told:
        if asked.path.startswith("/prom/"):
            return vector(({}, 5))
        return Told(status=307, headers={"Location": f"/prom{asked.path}"})

    server.answer = answer
    assert client_of(server.url).query("up").samples[0].value == 5
    assert server.asked[-1].form["query"] == ["up"]


def test_endless_redirects_end(server: Server) -> None:
    client = answering(server, Told(status=302, headers={"Location": "/again"}))
    with pytest.raises(Redirected, match="more than 3"):
        client.query("up")


@pytest.mark.parametrize(("text", "seconds"), [("15s", 15), ("1m30s", 90), ("500ms", 0.5), ("2h", 7200), ("x", None)])
def test_durations_of_prometheus(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


QUERIES = sorted(
    path.relative_to(RECORDINGS).as_posix()
    for path in RECORDINGS.glob("*_api/*.json")
    if path.name.startswith(("instant_", "range_")) or "/api/v1/query" in path.read_text()[:60]
)


@pytest.mark.parametrize("path", QUERIES)
def test_every_recorded_answer_is_read_or_refused_with_a_sentence(server: Server, path: str) -> None:
    told = recorded(path)
    client = answering(server, told)

    def ask() -> int:
        if "range_" in path:
            return len(client.query_range("x", start_s=0, end_s=60).series)
        return len(client.query("x").samples)

    if told.status >= 400 or "resolution" in path:
        with pytest.raises(SourceError, match=r"rejects|failed"):
            ask()
    else:
        assert ask() == told.body.count(b'"metric"') + (b'"scalar"' in told.body)
