"""What mypy says, set up as for the product, of files in which a test has planted something."""

import json
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
TYPES_S = 4.0 * PATIENCE_S
"""Longest that a run over the house may take beside other work; a minute alone."""
HEAVY = ["numpy.*", "pandas.*", "plotly.*", "pyarrow.*", "scipy.*", "streamlit.*"]
"""No result or choice holds their types, and reading them takes a third of the time."""


def type_errors(folder: Path, *arguments: str) -> str:
    """The lines of a run of mypy with these arguments, which keeps what it needs in ``folder``."""
    override = f'\n[[tool.mypy.overrides]]\nmodule = {json.dumps(HEAVY)}\nfollow_imports = "skip"\n'
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text() + override)
    options = ["--config-file", str(folder / "pyproject.toml"), "--cache-dir", str(folder / "cache")]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--follow-imports", "silent", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TYPES_S,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return run.stdout
