"""Where the dashboard's own files lie: in a checkout, or in the installed package."""

from pathlib import Path

from sharing.settings import IS_INSTALLED

_UI = Path(__file__).parent

APP = (_UI / "dashboard" if IS_INSTALLED else _UI.parent) / "app.py"
"""The script that Streamlit runs, with its pages and .streamlit beside it."""

ICON = _UI / "icon.png"
