"""Two dashboards with one library behind a real nginx with the configuration that is deployed: when one is gone, the
people on it go on at the other, and what they saved is there."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse

import pytest
import requests
from playwright.sync_api import Browser, expect

from sharing.library import open_library
from tests.deploy.files import DEPLOY
from tests.e2e.browser import Watch, new_page, settle
from tests.e2e.dashboard import running_dashboard
from tests.patience import PATIENCE_MS, PATIENCE_S
from tests.sharing.test_bonds import ANN
from tests.sharing.test_library import draft

pytestmark = pytest.mark.slow

COOKIE = "sizing_replica"
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
    """nginx in front of the dashboards of some ports, each ended by its own stack."""

    url: str
    home: Path
    replicas: dict[int, ExitStack]

    def served(self) -> dict[str, set[int]]:
        """The ports that answered each browser, by its cookie. A line is written once its answer has been read."""
        found: dict[str, set[int]] = {}
        for line in (self.home / "access.log").read_text().splitlines():
            *_, upstream, cookie = line.split(" ")
            if upstream != "-":
                found.setdefault(cookie, set()).add(int(upstream.rpartition(":")[2]))
        return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/bin:/opt/homebrew/bin:/usr/bin")
    if nginx is None:
        pytest.skip("needs nginx: tests/install_system_packages.sh")
    with closing(open_library(str(tmp_path / "library.sqlite"))) as library:
        library.add(draft(), by=ANN)
    with ExitStack() as stack:
        replicas = {}
        for _ in range(2):
            own = stack.enter_context(ExitStack())
            running = own.enter_context(
                running_dashboard(tmp_path, environment={"SHARING_DATABASE": str(tmp_path / "library.sqlite")})
            )
            replicas[urlparse(running.url).port or 0] = own
        port = free_port()
        first, second = replicas
        filled = {
            "LISTEN": f"127.0.0.1:{port}",
            "SERVER_NAME": "localhost",
            "DASHBOARD_1": f"127.0.0.1:{first}",
            "DASHBOARD_MORE": f"server 127.0.0.1:{second} max_fails=1 fail_timeout=5s;",
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
        yield Site(url=url, home=tmp_path, replicas=replicas)


def test_people_go_on_when_their_replica_is_gone(site: Site, browser: Browser) -> None:
    strangers = []
    for _ in range(12):
        with requests.Session() as stranger:
            assert all(stranger.get(site.url, timeout=PATIENCE_S).ok for _ in range(4))
            strangers.append(stranger.cookies[COOKIE])
    served = site.served()
    assert all(len(served[stranger]) == 1 for stranger in strangers), "one browser, one replica"
    assert set.union(*(served[stranger] for stranger in strangers)) == set(site.replicas), "and not all the same"
    for place in ("metrics", "script-health-check"):
        assert requests.get(f"{site.url}/_stcore/{place}", timeout=PATIENCE_S).status_code == 404

    page = new_page(browser, Watch(host="localhost"), width=1440, height=900, scheme="light")
    page.goto(f"{site.url}/size?isl=4321", wait_until="load")
    settle(page)
    expect(page.get_by_label("Prompt (tokens)", exact=True)).to_have_value("4321", timeout=PATIENCE_MS)
    (cookie,) = (one for one in page.context.cookies() if one["name"] == COOKIE)
    (own,) = site.served()[cookie["value"]]
    site.replicas[own].close()
    page.goto(f"{site.url}/size?isl=4321", wait_until="load")
    settle(page)
    expect(page.get_by_label("Prompt (tokens)", exact=True)).to_have_value("4321", timeout=PATIENCE_MS)
    page.goto(f"{site.url}/scenarios", wait_until="load")
    settle(page)
    expect(page.get_by_role("region", name="Scenarios").first).to_be_visible(timeout=PATIENCE_MS)
    page.context.close()
