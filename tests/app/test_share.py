"""Share on a page: a live link, frozen links of a saved version, their list, and taking them back."""

import re
from typing import Any

import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from sharing.author import owner
from sharing.form.link_versions import LINK_VERSION
from sharing.library import Library
from sharing.library.records import ScenarioDraft
from sharing.links import Holder, Links
from sharing.links.records import Link
from sharing.report.content import Released
from tests.app.conftest import scenario


@pytest.fixture
def share(library: Library, size: AppTest) -> AppTest:
    """Size with its ways to share open, and a price of one's own in the form."""
    size.session_state["share"] = True
    size.selectbox(key="usd_of").set_value("dgx_h100")
    return size.text_input(key="usd_system").set_value("123456").run()


def press(app: AppTest, label: str) -> AppTest:
    (button,) = [one for one in app.button if one.label == label and not (one.key or "").startswith("save")]
    app = button.click().run()
    assert not app.exception
    return app


def links(library: Library) -> tuple[Link, ...]:
    return Links(library).of_scenario(1, by=owner())


def addresses(app: AppTest) -> list[str]:
    return [one.value for one in app.code]


def test_a_live_link_is_there_and_holds_no_price(share: AppTest) -> None:
    (live,) = addresses(share)
    assert f"v={LINK_VERSION}" in live
    assert "123456" not in live
    assert "dgx_h100" not in live


def test_a_frozen_link_is_of_what_is_saved(library: Library, share: AppTest) -> None:
    assert not any(one.label == "Make a frozen link" for one in share.button)
    press(share, "Save")
    assert library.search().total == 1
    share.text_input(key="rps").set_value("31").run()
    assert any("not those of version 1" in one.value for one in share.caption)
    press(share, "Save")
    assert [one.number for one in library.history(1)] == [2, 1]
    share.radio(key="share_prices").set_value(Released.LIST_PRICES)
    share.text_input(key="share_password").input("correct horse")
    press(share, "Make a frozen link")
    (link,) = links(library)
    assert (link.version, link.released, link.has_password) == (2, Released.LIST_PRICES, True)
    token = re.fullmatch(r".*/shared\?token=(.+)", addresses(share)[1])[1]
    holder = Holder(library, token)
    report = holder.show(holder.unlock("correct horse")).report
    assert "123,456" not in report.model_dump_json()
    assert "123456" not in report.model_dump_json()
    press(share, "Revoke")
    assert links(library)[0].revoked_at is not None
    assert not any(one.label == "Revoke" for one in share.button)
    assert len(addresses(share)) == 1, "a link that opens nothing is not offered for copying"


@pytest.mark.slow
def test_a_bar_moves_while_a_frozen_link_is_made(
    library: Library, share: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, progress = [], DeltaGenerator.progress

    def watched(place: DeltaGenerator, value: float, text: str | None = None, **other: Any) -> DeltaGenerator:
        shown.append((value, text))
        return progress(place, value, text, **other)

    press(share, "Save")
    monkeypatch.setattr(DeltaGenerator, "progress", watched)
    press(share, "Make a frozen link")
    assert shown[0] == (0.0, "Computing the report")
    values = [value for value, _ in shown]
    assert values == sorted(values)
    assert len(set(values)) > 3
    assert not share.get("progress"), "it is gone at the end"


def test_addresses_inside_a_network_are_in_no_link(share: AppTest) -> None:
    share.text_input(key="name").set_value("See http://10.0.0.5/plan").run()
    (live,) = addresses(share)
    assert "See+" in live
    assert "10.0.0.5" not in live


@pytest.mark.slow
def test_a_scenario_in_the_list_is_shared_alike(library: Library, app: AppTest) -> None:
    library.add(ScenarioDraft(scenario=scenario("In the list")), by=owner("ann"))
    app.session_state["scenario_share"] = True
    page = app.switch_page("pages/scenarios.py").run()
    assert not page.exception
    assert any("name=In+the+list" in address for address in addresses(page))
    press(page, "Make a frozen link")
    assert links(library)[0].version == 1
    press(page, "Revoke")
    assert links(library)[0].revoked_at is not None


def test_what_the_library_refuses_is_said(library: Library, share: AppTest) -> None:
    press(share, "Save")
    share.text_input(key="share_password").input("short")
    press(share, "Make a frozen link")
    assert any("A password has 8 to 200 characters" in one.value for one in share.error)
    assert links(library) == ()
