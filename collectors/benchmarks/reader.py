"""``read_benchmark``: which tool wrote this file, and what it says."""

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Protocol, cast

from collectors.benchmarks import tools
from collectors.benchmarks.documents import Document, open_document
from collectors.benchmarks.records import Imported
from collectors.errors import BadRow, BenchmarkFileError, NotAResultFile


class Tool(Protocol):
    """One module per tool and form of file.

    ``FORMAT`` is the tool's name, ``FILE`` which of its files to import, in Markdown; "" where another module says it.
    ``PRIORITY`` orders the modules: the lowest is asked first, so the more particular its signs, the lower. ``ENGINE``
    is the engine whose own tool it is, None for a tool of none; such a tool can measure other engines too.
    """

    FORMAT: str
    FILE: str
    PRIORITY: int
    ENGINE: str | None

    def detect(self, document: Document) -> bool:
        """Whether this tool wrote the document; never raises."""

    def parse(self, document: Document) -> Imported:
        """The runs in the document. Raises BenchmarkFileError; a bad row is an error in the result."""


def _tools() -> tuple[Tool, ...]:
    """Every importer: a module in ``tools`` is one by being there."""
    names = [module.name for module in pkgutil.iter_modules(tools.__path__)]
    modules = [cast(Tool, importlib.import_module(f"{tools.__name__}.{name}")) for name in names]
    return tuple(sorted(modules, key=lambda tool: tool.PRIORITY))


TOOLS = _tools()


def files_of_tools() -> Mapping[str, str]:
    """Tool and which of its files to import, in Markdown, in the order in which tools are asked."""
    return {tool.FORMAT: tool.FILE for tool in TOOLS if tool.FILE}


def engine_of_tool(name: str) -> str | None:
    """The engine whose own tool has this name; only a guess of what was measured, to be checked."""
    return next((tool.ENGINE for tool in TOOLS if name == tool.FORMAT), None)


def read_benchmark(data: bytes, name: str) -> Imported:
    """The runs in one result file, whatever tool wrote it; a bad row becomes an error and never loses the good ones.

    ``name`` is the file's name, with its folders if known: some tools state the load only there. Raises
    BenchmarkFileError with one sentence when nothing can be read, NotAResultFile when it is no result at all.
    """
    document = open_document(data, name)
    for tool in TOOLS:
        if tool.detect(document):
            try:
                imported = tool.parse(document)
            except BadRow as error:
                raise BenchmarkFileError(f"{name} cannot be read: {error}.") from None
            if not (imported.points or imported.errors):
                raise BenchmarkFileError(f"{name} is of the format {imported.format}, but holds no run.")
            return imported
    raise NotAResultFile(
        f"{name} is not the result of a benchmark tool known here; write its runs into the CSV for any other tool "
        "(columns and template: docs/BENCHMARK_CSV.md, and on the page Benchmarks)."
    )
