"""What the first page of a fresh server loads."""

import gc
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S
from ui.state.answers import _what_is_needed_later

ROOT = Path(__file__).parents[2]


def test_the_first_page_does_not_wait_for_what_later_pages_need() -> None:
    later = ("sqlalchemy", "alembic", "xlsxwriter", "pptx", "scipy.stats", "scipy.optimize", "matplotlib")
    later += ("sharing.report.build", "collectors.prometheus")
    code = f"import ui.size.page, ui.home.page, sys; print([m for m in {later!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stdout.strip() == "[]"


def test_garbage_is_collected_again_once_all_is_loaded() -> None:
    gc.disable()
    try:
        _what_is_needed_later()
        assert gc.isenabled()
        assert gc.get_freeze_count()
    finally:
        gc.enable()
        gc.unfreeze()
