"""Chapters on numbers that are neither asked nor computed: constants, fitted efficiencies, engines, formats."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sizing.base import units
from sizing.base.constants import CONSTANTS
from sizing.base.format import percent
from sizing.catalog.engines import Tiers, engines
from sizing.catalog.files import read_yaml
from sizing.catalog.precisions import precisions
from sizing.catalog.support_rows import by_generation
from sizing.economics.assumptions import assumptions_for
from sizing.methodology.content import Cell, FactTable, MethodologyChapter
from sizing.methodology.docstrings import PACKAGE, module_name, plain_text
from sizing.methodology.formulas import left_out
from sizing.scenario.costs import Costs


def constants() -> MethodologyChapter:
    """Every constant with its source and date, then those that stand beside the code that uses them."""
    named = tuple((c.name, c.value, c.unit, c.meaning, c.source, c.date) for c in CONSTANTS.values())
    columns = ("Constant", "Value", "Unit", "Meaning", "Source", "Date")
    local = tuple(row for path in sorted(PACKAGE.rglob("*.py")) if not left_out(path) for row in module_constants(path))
    return MethodologyChapter(
        slug="constants",
        title="Constants",
        intro="Numbers that are neither asked, nor in the catalogue, nor fitted.",
        tables=(
            FactTable(title="Constants with a source", columns=columns, rows=named),
            FactTable(title="Constants of the cost model", columns=columns, rows=_of_cost()),
            FactTable(
                title="Conventions and bounds in the code",
                rows=local,
                columns=("Name", "Value", "Meaning and source", "Module"),
            ),
        ),
    )


def _of_cost() -> tuple[tuple[Cell, ...], ...]:
    """Constants of the cost model as they are when a scenario gives none."""
    every = assumptions_for(Costs()).values()
    return tuple(
        (c.name, None if c.amount is None else c.amount.value, c.unit, c.meaning, c.source, c.date) for c in every
    )


def module_constants(path: Path) -> Iterator[tuple[Cell, ...]]:
    """Numbers in capitals of one source file that carry a docstring below or a comment beside them."""
    text = path.read_text(encoding="utf-8")
    lines, body = text.splitlines(), ast.parse(text).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        value = _arithmetic(node.value)
        if not isinstance(target, ast.Name) or not target.id.isupper() or value is None:
            continue
        meaning = _string(following) or lines[node.lineno - 1].partition("  # ")[2]
        if meaning and not target.id.startswith("_"):
            yield target.id, value, " ".join(plain_text(meaning).split()), module_name(path)


def fitted() -> MethodologyChapter:
    """The fitted efficiencies of the roofline, as the data file holds them."""
    content: Mapping[str, Any] = read_yaml("efficiency.yaml")
    fit = content.get("fitted") or {}
    facts = ", ".join(f"{key} {value}" for key, value in fit.items() if value not in (None, "", 0))
    tables = [_nested(key, value) for key, value in content.items() if _is_nested(value)]
    single = tuple((key, value) for key, value in content.items() if isinstance(value, int | float))
    if single:
        tables.append(FactTable(title="Fixed times and factors", columns=("Name", "Value"), rows=single))
    return MethodologyChapter(
        slug="efficiencies",
        title="Efficiencies",
        intro="Share of the datasheet rates that real kernels reach, and fixed times in seconds. "
        f"Fit: {facts or 'none'}.",
        tables=tuple(tables),
    )


def engines_and_formats() -> MethodologyChapter:
    """Serving engines with the defaults the load model uses, and number formats with their size."""
    rows: Iterator[dict[str, Cell]] = (
        {
            "Engine": e.label,
            "Block (tokens)": e.block_tokens,
            "Token budget per step": _sizes(e.token_budget),
            "Sequences in flight, at most": _sizes(e.max_sequences),
            "Memory used": "by what is reserved" if e.memory.fraction is None else percent(e.memory.fraction),
            "Version": e.version,
            "Runs on": ", ".join(
                g for (name, g), fact in by_generation().items() if name == e.id and fact.entry == "supported"
            ),
            "Source": e.source,
            "Date": e.date,
        }
        for e in engines().values()
    )
    formats = tuple((p.label, p.bytes, p.compute, p.accuracy, p.needs) for p in precisions().values())
    return MethodologyChapter(
        slug="engines",
        title="Engines and formats",
        intro="Budgets and sequences are given for GPUs below and from 70 GiB of memory, where engines switch their "
        "defaults. Bytes per parameter include scales.",
        tables=(
            FactTable.of_records("Engines", rows),
            FactTable(
                title="Number formats",
                columns=("Format", "Bytes per parameter", "Matrix rate", "Accuracy loss", "GPU must support"),
                rows=formats,
            ),
        ),
    )


def _sizes(tiers: Tiers) -> str:
    """A default by the memory of a GPU: "2,048; from 70 GiB 8,192"."""
    return "; ".join(f"{value:,}" if not least else f"from {least:g} GiB {value:,}" for least, value in tiers)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(row, dict) for row in value.values())


def _nested(name: str, rows: Mapping[str, Mapping[str, Any]]) -> FactTable:
    keys = list(dict.fromkeys(key for row in rows.values() for key in row))
    cells = tuple((str(name), *(row.get(key) for key in keys)) for name, row in rows.items())
    return FactTable(title=name.replace("_", " ").capitalize(), columns=("For", *keys), rows=cells)


def _string(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def _arithmetic(node: ast.expr) -> float | None:
    """The value of a number, a unit, or a sum, difference, product or power of them; None for anything else."""
    if isinstance(node, ast.Name):
        return getattr(units, node.id, None)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _arithmetic(node.left), _arithmetic(node.right)
    if left is None or right is None:
        return None
    match node.op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Pow():
            return float(left**right)
        case _:
            return None
