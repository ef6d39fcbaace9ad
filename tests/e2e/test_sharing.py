"""Sharing in a real browser: saved, frozen, opened by somebody else on a cold server, revoked, refused."""

import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from sharing.author import owner
from sharing.library import open_library
from sharing.library.records import ScenarioDraft
from sharing.links import Links
from sharing.links.records import Terms
from sizing import Scenario
from tests.e2e.browser import Watch, new_page, settle
from tests.e2e.conftest import OpenPage
from tests.e2e.dashboard import Dashboard, running_dashboard
from tests.e2e.test_accessibility import findings
from tests.sharing.report_example import evil_report
from tests.sizing.asking import raw

OpenAt = Callable[..., Page]
POPOVER = "stPopoverBody"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library") / "library.sqlite"


@pytest.fixture(scope="module")
def sharing(tmp_path_factory: pytest.TempPathFactory, place: Path) -> Iterator[Dashboard]:
    with running_dashboard(tmp_path_factory.mktemp("home"), environment={"SHARING_DATABASE": str(place)}) as running:
        yield running
        assert not running.bugs(), running.bugs()


@pytest.fixture
def open_at(browser: Browser) -> Iterator[OpenAt]:
    """Opens an address in a fresh browser context, as somebody else does."""
    watch, pages = Watch(host="localhost"), []

    def opened(address: str, width: int = 1440) -> Page:
        page = new_page(browser, watch, width=width, height=900, scheme="light")
        pages.append(page)
        page.goto(address, wait_until="load")
        settle(page)
        return page

    yield opened
    for page in pages:
        if not page.is_closed():
            page.context.close()
    assert not watch.complaints, "\n".join(watch.complaints)


def press(page: Page, name: str, *, within: str = "stApp") -> None:
    page.get_by_test_id(within).get_by_role("button", name=name, exact=True).first.click()
    page.mouse.move(0, 0)  # or the help of this button would cover the next one
    settle(page)


@pytest.mark.slow
def test_saved_frozen_opened_by_another_revoked_and_refused(
    sharing: Dashboard, place: Path, open_at: OpenAt, tmp_path: Path
) -> None:
    mine = open_at(f"{sharing.url}/size?name=Chat+of+Acme&model=llama+3.1+8b&rps=3&gpu=h100")
    press(mine, "Share")
    press(mine, "Save", within=POPOVER)
    press(mine, "Make a frozen link", within=POPOVER)
    address = mine.get_by_test_id(POPOVER).get_by_text("/shared?token=").inner_text().strip()
    assert address.startswith(f"{sharing.url}/shared?token=")
    expect(mine.get_by_text(re.compile("1: version 1, .*no prices, until .*, 0 views"))).to_be_visible()
    # Nobody has opened any page of a fresh server before.
    with running_dashboard(tmp_path, environment={"SHARING_DATABASE": str(place)}, cold=True) as cold:
        theirs = open_at(address.replace(sharing.url, cold.url))
        expect(theirs.get_by_role("heading", name="Chat of Acme")).to_be_visible()
        nothing_else(theirs)
        assert "token=" in theirs.url
        assert findings(theirs) == []
        settle(mine)
        press(mine, "Revoke", within=POPOVER)
        expect(mine.get_by_text(re.compile("1: version 1, .*revoked, 1 view"))).to_be_visible()
        theirs.reload()
        settle(theirs)
        expect(theirs.get_by_text("This link was withdrawn on")).to_be_visible()
        nothing_else(theirs)
        assert not theirs.get_by_text("Chat of Acme").count()
        theirs.context.close()  # before its server goes
        assert not cold.bugs(), cold.bugs()


def nothing_else(page: Page) -> None:
    """No navigation, no library, and no way to any other page."""
    assert not page.get_by_test_id("stSidebar").count()
    assert not page.locator("a[href]:not([href='#stMain'])").count()  # that one skips to the page's own content
    assert not page.get_by_text("Scenarios").count()


def test_no_text_of_a_frozen_page_becomes_a_link(sharing: Dashboard, place: Path, open_at: OpenAt) -> None:
    library = open_library(str(place))
    kept = library.add(ScenarioDraft(scenario=Scenario.model_validate({**raw(), "name": "Typed"})), by=owner("ann"))
    token = Links(library).make(kept.scenario_id, 1, evil_report(), Terms(), by=owner("ann")).token
    library.close()
    page = open_at(f"{sharing.url}/shared?token={token}")
    expect(page.get_by_test_id("stTable").get_by_text("<script>alert(1)</script>").first).to_be_visible()
    nothing_else(page)
    assert not page.locator("img[src*=evil]").count()


@pytest.mark.slow
def test_on_a_phone_a_shared_page_has_no_navigation_either(sharing: Dashboard, open_at: OpenAt) -> None:
    page = open_at(f"{sharing.url}/shared?token=guess", width=390)
    expect(page.get_by_text("This link leads nowhere")).to_be_visible()
    nothing_else(page)


def test_the_second_of_two_editors_sees_the_difference_and_chooses(
    sharing: Dashboard, place: Path, open_at: OpenAt
) -> None:
    mine = open_at(f"{sharing.url}/size?name=Two+editors&model=llama+3.1+8b&rps=3&gpu=h100")
    press(mine, "Save")
    press(mine, "Save as a new scenario", within=POPOVER)
    done = mine.get_by_text(re.compile(r"Saved as version 1 of scenario \d+")).inner_text()
    library = open_library(str(place))
    theirs = Scenario.model_validate({**raw(), "name": "Two editors, theirs"})
    number = int(done.rstrip(".").rpartition(" ")[2])
    library.save(number, 1, ScenarioDraft(scenario=theirs), by=owner("bob"))
    mine.keyboard.press("Escape")
    prompt = mine.get_by_label("Prompt (tokens)", exact=True)  # only what has changed is a new version
    prompt.fill("1234")
    prompt.press("Enter")
    settle(mine)
    press(mine, "Save")
    press(mine, "Save as version 2", within=POPOVER)
    expect(mine.get_by_text("bob has saved version 2 meanwhile")).to_be_visible()
    press(mine, "Keep mine", within=POPOVER)
    expect(mine.get_by_text("Saved as version 3")).to_be_visible()
    assert [one.author == "bob" for one in library.history(number)] == [False, True, False]
    library.close()


def test_the_zip_deploys_the_plan_on_the_page(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("size?isl=3500&osl=500&rps=12&gpu=H100+SXM5+80GB&engine=vLLM&view=Export")
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name="Manifests (zip)").click()
    assert download.value.suggested_filename.endswith("-manifests.zip")
    path = tmp_path / "manifests.zip"
    download.value.save_as(path)
    with zipfile.ZipFile(path) as archive:
        readme = archive.read("README.md").decode()
        (deployment,) = (
            one
            for one in yaml.safe_load_all(archive.read("kubernetes.yaml"))
            if one["kind"] in ("Deployment", "LeaderWorkerSet")
        )
    assert f"{deployment['spec']['replicas']} instance" in readme
