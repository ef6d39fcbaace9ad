"""Three dashboards with one PostgreSQL behind a real nginx with the configuration that is deployed: when one is killed,
the people on it go on at the others, what was saved is there, and what only its sessions held is said."""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from bench.dashboard import Dashboard
from bench.postgres import programs, running_postgres
from bench.server import free_port
from bench.socket_user import SocketUser
from tests.app.live import vllm
from tests.collectors.fake_prometheus import FakePrometheus
from tests.collectors.feeds import NOW, Feed
from tests.collectors.servers import serving
from tests.deploy.files import DEPLOY
from tests.e2e.acting import enter, pick
from tests.e2e.browser import Watch, new_page, settle
from tests.e2e.test_benchmarks import VLLM, drop
from tests.loops import awaited
from tests.patience import PATIENCE_MS, PATIENCE_S
from tests.saving import Told, holds_what_was_told, save_on, until_each_saved

pytestmark = pytest.mark.slow

COOKIE = "sizing_replica"
REPLICAS, PEOPLE = 3, 9
GONE = "The server that this page was connected to is gone"
MAIN = """
daemon off; worker_processes 1; pid {home}/nginx.pid; error_log {home}/error.log;
events {{ worker_connections 256; }}
http {{
    log_format seen '$upstream_addr $cookie_sizing_replica';
    access_log {home}/access.log seen;
    client_body_temp_path {home}/a; proxy_temp_path {home}/b; fastcgi_temp_path {home}/c; uwsgi_temp_path {home}/d;
    scgi_temp_path {home}/e;
    {server}
}}
"""


@dataclass(frozen=True, kw_only=True)
class Site:
    """nginx in front of dashboards, by their ports, which share a library."""

    url: str
    home: Path
    library: str
    replicas: dict[int, Dashboard]

    def served(self) -> dict[str, set[int]]:
        """The ports that answered each browser, by its cookie. A line is written once its answer has been read; one of
        several ports that were asked names them all, and the last has answered."""
        found: dict[str, set[int]] = {}
        for line in (self.home / "access.log").read_text().splitlines():
            upstream, _, cookie = line.rpartition(" ")
            if upstream != "-":
                found.setdefault(cookie, set()).add(int(upstream.rpartition(":")[2]))
        return found

    def browser(self) -> str:
        """The cookie of a new browser, which has asked for a page."""
        with requests.Session() as asking:
            assert all(asking.get(self.url, timeout=PATIENCE_S).ok for _ in range(4))
            return str(asking.cookies[COOKIE])


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    with running_postgres(folder, durable=False) as server:
        yield server.new_database()


@pytest.fixture
def site(tmp_path: Path, library: str) -> Iterator[Site]:
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/bin:/opt/homebrew/bin:/usr/bin")
    if nginx is None:
        pytest.skip("needs nginx: tests/install_system_packages.sh")
    with ExitStack() as stack:
        settings = {"SHARING_DATABASE": library, "SIZING_WORKERS": "0"}
        replicas = [Dashboard(tmp_path, settings) for _ in range(REPLICAS)]
        for replica in replicas:
            stack.callback(replica.stop)
            replica.start()
        first, *others = [f"127.0.0.1:{replica.port}" for replica in replicas]
        port = free_port()
        filled = {
            "LISTEN": f"127.0.0.1:{port}",
            "SERVER_NAME": "localhost",
            "DASHBOARD_1": first,
            "DASHBOARD_MORE": " ".join(f"server {other} max_fails=1 fail_timeout=5s;" for other in others),
            "COOKIE_SECURE": "",
        }
        server = (DEPLOY / "nginx" / "nginx.conf").read_text()
        for name, value in filled.items():
            server = server.replace(f"${{{name}}}", value)
        config = tmp_path / "nginx.conf"
        config.write_text(MAIN.format(home=tmp_path, server=server))
        process = subprocess.Popen([nginx, "-p", tmp_path, "-c", config], stderr=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        url = f"http://localhost:{port}"
        deadline = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < deadline:
            try:
                requests.get(f"http://127.0.0.1:{port}/_stcore/health", timeout=5)
                break
            except requests.ConnectionError:
                time.sleep(0.05)
        yield Site(url=url, home=tmp_path, library=library, replicas={one.port: one for one in replicas})


async def under_load(site: Site, cookies: list[str], victim: Dashboard) -> Told:
    """Everybody saves; once everybody has, a replica is killed, and everybody saves on."""
    told = Told()

    async def person(number: int) -> None:
        async with SocketUser(site.url, cookie=f"{COOKIE}={cookies[number]}") as user:
            await save_on(user, number, told, people=PEOPLE)

    async with asyncio.TaskGroup() as group:
        for number in range(PEOPLE):
            group.create_task(person(number))
        await until_each_saved(told, PEOPLE, more=2)
        victim.kill()
        await until_each_saved(told, PEOPLE, more=3)
        told.done = True
    return told


def browsers_of_all(site: Site) -> list[str]:
    """Cookies of people, each of one replica and at least one of every replica: which one gets whom is chance."""
    drawn: list[str] = []
    of_replica: dict[int, str] = {}
    while len(drawn) < PEOPLE or len(of_replica) < REPLICAS:
        assert len(drawn) < 20 * PEOPLE, "some replica gets nobody"
        drawn.append(site.browser())
        (port,) = site.served()[drawn[-1]]
        of_replica.setdefault(port, drawn[-1])
    others = [cookie for cookie in drawn if cookie not in of_replica.values()]
    return [*of_replica.values(), *others][:PEOPLE]


def test_people_go_on_when_their_replica_is_killed(site: Site) -> None:
    cookies = browsers_of_all(site)
    served = site.served()
    for place in ("_stcore/metrics", "_stcore/script-health-check", "metrics"):
        assert requests.get(f"{site.url}/{place}", timeout=PATIENCE_S).status_code == 404
    (killed,) = served[cookies[0]]
    told = awaited(lambda: under_load(site, cookies, site.replicas[killed]))
    theirs = {number for number in range(PEOPLE) if served[cookies[number]] == {killed}}
    assert set(told.lost) == theirs, "whoever was elsewhere noticed nothing"
    assert len(told.saved) >= 5 * PEOPLE
    holds_what_was_told(site.library, told)
    assert all("Traceback" not in one.log.read_text(errors="replace") for one in site.replicas.values())


@pytest.fixture
def page(site: Site, browser: Browser) -> Iterator[Page]:
    page = new_page(browser, Watch(host="localhost"), width=1440, height=900, scheme="light")
    yield page
    page.context.close()


def lose_replica(site: Site, page: Page, *, before: frozenset[int] = frozenset()) -> frozenset[int]:
    """Kill the replica that a page is connected to, and wait until the page has found another by itself. Returns those
    that the page has lost so far, ``before`` among them. Nobody has drawn a page of the one that it finds."""
    app = page.get_by_test_id("stApp")
    (cookie,) = (one for one in page.context.cookies() if one["name"] == COOKIE)
    (own,) = site.served()[cookie["value"]] - before
    site.replicas[own].kill()
    expect(app).not_to_have_attribute("data-test-connection-state", "CONNECTED", timeout=PATIENCE_MS)
    expect(app).to_have_attribute("data-test-connection-state", "CONNECTED", timeout=PATIENCE_MS)
    return before | {own}


def test_a_page_finds_another_replica_and_says_what_it_has_lost(site: Site, page: Page) -> None:
    main = page.get_by_test_id("stMain")
    page.goto(f"{site.url}/benchmarks?isl=4321", wait_until="load")
    settle(page)
    drop(page, VLLM[0])
    expect(main).to_contain_text("Read 1 run", timeout=PATIENCE_MS)
    lose_replica(site, page)
    field = page.get_by_label("TP (GPUs)", exact=True)  # an idle page asks for nothing
    field.fill("2")
    field.press("Enter")
    expect(main).to_contain_text(GONE, timeout=PATIENCE_MS)
    expect(main).not_to_contain_text("Read 1 run")
    assert "isl=4321" in page.url


def test_the_first_change_at_another_replica_counts(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/size?isl=4321&rps=7", wait_until="load")
    settle(page)
    lost = lose_replica(site, page)
    enter(page, "Output (tokens)", "777")
    expect(page.get_by_test_id("stMain")).to_contain_text(GONE)
    expect(page.get_by_label("Output (tokens)", exact=True)).to_have_value("777")
    asked = {"isl": ["4321"], "rps": ["7"], "osl": ["777"]}
    assert parse_qs(urlparse(page.url).query).items() >= asked.items()
    lose_replica(site, page, before=lost)
    pick(page, "Cloud")
    expect(page.get_by_test_id("stMain")).to_contain_text(GONE)
    asked["where"] = ["Cloud"]
    assert parse_qs(urlparse(page.url).query).items() >= asked.items()


def test_a_page_says_that_a_typed_source_went_with_its_replica(site: Site, page: Page) -> None:
    """Live asks by itself, so that it is told without a click; typed again, the source is read by the other replica."""
    main = page.get_by_test_id("stMain")
    rate = page.get_by_test_id("stMetric").filter(has=page.get_by_text("Requests/s", exact=True)).first
    fake = FakePrometheus(Feed({"a:8000": vllm(), "b:8000": vllm()}), shift_s=time.time() - NOW)
    with serving(fake) as server:
        page.goto(f"{site.url}/live", wait_until="load")
        connect(page, server.url)
        expect(rate.get_by_test_id("stMetricValue")).to_have_text("4", timeout=PATIENCE_MS)
        lose_replica(site, page)
        expect(main).to_contain_text(GONE, timeout=PATIENCE_MS)
        expect(main).to_contain_text("every number is simulated", timeout=PATIENCE_MS)
        connect(page, server.url)
        expect(rate.get_by_test_id("stMetricValue")).to_have_text("4", timeout=PATIENCE_MS)


def connect(page: Page, url: str) -> None:
    """Type the address of a Prometheus."""
    page.get_by_role("button", name="Connect").click()
    page.get_by_role("textbox", name="URL; several metrics pages").fill(url)
    page.get_by_test_id("stFormSubmitButton").get_by_role("button", name="Connect").click()
