"""How the answer comes about, generated from the engine: formulas, constants, sources, ranges, glossary.

``sections()`` feeds the Methodology page; ``python -m sizing.methodology`` writes docs/METHODOLOGY.md, the reader's
version, and docs/METHODOLOGY_REFERENCE.md, every formula with its source.
"""

from sizing.methodology.chapters import sections
from sizing.methodology.content import Entry, FactTable, MethodologyChapter, search

__all__ = ["Entry", "FactTable", "MethodologyChapter", "search", "sections"]
