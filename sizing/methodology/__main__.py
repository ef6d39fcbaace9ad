"""``python -m sizing.methodology [--check]``: write docs/METHODOLOGY.md, or say that it is out of date (exit 1)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sizing.methodology.chapters import sections
from sizing.methodology.docstrings import PACKAGE
from sizing.methodology.markdown import document

TARGET = PACKAGE.parent / "docs" / "METHODOLOGY.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the document, or with ``--check`` compare it; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sizing.methodology", description="Generate docs/METHODOLOGY.md.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when the document is out of date")
    wanted = document(sections())
    if parser.parse_args(arguments).check:
        if TARGET.exists() and TARGET.read_text(encoding="utf-8") == wanted:
            return 0
        print(f"{TARGET} is out of date: run python -m sizing.methodology", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(wanted, encoding="utf-8")
    print(f"wrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
