"""Where whoever runs the product puts settings: who has which role (access.yaml), sources of live data (sources/)."""

from pathlib import Path

_ROOT = Path(__file__).parents[1]

IS_INSTALLED = (_ROOT / "ui" / "dashboard").is_dir()
"""Whether this is the installed package: only the wheel has this folder (pyproject.toml)."""

SETTINGS = Path() if IS_INSTALLED else _ROOT
"""Their folder: that of app.py in a checkout; of the installed package, which an update replaces, the folder that it is
started in."""
