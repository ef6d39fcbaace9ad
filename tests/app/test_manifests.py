"""Manifests beside the other files of an answer, where there is anything to deploy."""

from ui.library.export import manifests_zip

QUICK = {"model": "meta-llama/Meta-Llama-3-8B-Instruct", "gpu": "H100 SXM5 80GB", "view": "Export"}


def buttons(app) -> list[str]:
    return [one.label for one in app.get("download_button")]


def test_an_answer_has_manifests_in_one_zip(open_link):
    app = open_link(**QUICK)
    assert not app.exception
    assert "Manifests (zip)" in buttons(app)
    made = manifests_zip(app.session_state["last_answer"])
    assert made[:2] == b"PK"


def test_an_answer_without_a_deployment_has_none(open_link):
    app = open_link(**QUICK | {"gpu": "L4", "model": "deepseek-ai/DeepSeek-V3"})
    assert not app.exception
    assert any("nothing" in one.value.lower() for one in (*app.error, *app.warning, *app.markdown))
    assert "Manifests (zip)" not in buttons(app)


def test_export_offers_them_on_every_page_of_a_scenario(open_link):
    app = open_link(**QUICK)
    app.session_state["export"] = True
    assert buttons(app.run()).count("Manifests (zip)") == 2  # in the popover, and in the tab of Size
    app.switch_page("pages/compare.py").run()
    app.session_state["export"] = True
    assert "Manifests (zip)" in buttons(app.run())
    assert not app.exception
