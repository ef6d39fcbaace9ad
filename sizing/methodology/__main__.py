"""``python -m sizing.methodology [--check]``: write the documents, or name those that are out of date (exit 1)."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sizing.methodology.chapters import reference
from sizing.methodology.docstrings import PACKAGE
from sizing.methodology.markdown import reader_document, reference_documents
from sizing.methodology.reader import CHAPTERS, REFERENCE, in_document, reader

DOCS = PACKAGE.parent / "docs"
READER = "METHODOLOGY.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the documents, or with ``--check`` compare them; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sizing.methodology", description="Generate docs/METHODOLOGY*.md.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a document is out of date")
    if parser.parse_args(arguments).check:
        stale = [path for path, text in documents().items() if not path.exists() or path.read_text("utf-8") != text]
        for path in stale:
            print(f"{path} is out of date: run python -m sizing.methodology", file=sys.stderr)
        return 1 if stale else 0
    for path, text in documents().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    return 0


def documents() -> Mapping[Path, str]:
    """The texts of the reader's version, of the index of the reference and of its chapters by their files."""
    chapters = reference()
    index, *others = reference_documents(chapters, CHAPTERS).items()
    return {
        DOCS / READER: reader_document(reader(chapters, in_document)),
        DOCS / REFERENCE: index[1],
        **{DOCS / CHAPTERS / name: text for name, text in others},
    }


if __name__ == "__main__":
    sys.exit(main())
