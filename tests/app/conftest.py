"""The app without a browser, started from app.py as a user would start it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

APP = Path(__file__).parents[2] / "app.py"
RUN_LIMIT_S = 60

OpenLink = Callable[..., AppTest]


@pytest.fixture
def app() -> AppTest:
    """The home page."""
    return AppTest.from_file(str(APP), default_timeout=RUN_LIMIT_S).run()


@pytest.fixture
def size(app: AppTest) -> AppTest:
    """The Size page, untouched."""
    return app.switch_page("pages/size.py").run()


@pytest.fixture
def open_link() -> OpenLink:
    """Opens Size by a link with these parameters, as a session that starts there does."""

    def opened(**parameters: str | list[str]) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=RUN_LIMIT_S)
        for key, value in (parameters | {"goto": "size"}).items():
            app.query_params[key] = value
        return app.run()

    return opened
