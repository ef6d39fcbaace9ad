"""What the first page of a fresh server loads."""

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]


def test_the_first_page_does_not_wait_for_the_library_of_scenarios() -> None:
    later = ("sqlalchemy", "alembic", "xlsxwriter", "pptx", "scipy.stats", "matplotlib")
    code = f"import ui.size.page, ui.home, sys; print([m for m in {later!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stdout.strip() == "[]"
