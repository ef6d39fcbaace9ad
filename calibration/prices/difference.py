"""Two states of a price file side by side: what is new, gone, or dearer and cheaper, before anything is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sizing.catalog.files import Row

ChangeKind = Literal["new", "gone", "price", "other"]
"""How a row differs: only in the new state, only in the old, by a price, or by something else than its date."""

KIND_ORDER: tuple[ChangeKind, ...] = ("price", "new", "gone", "other")
SHOWN = 40
"""Rows of a kind that are printed, the largest changes first; the rest is counted. Chosen: a screen."""


@dataclass(frozen=True, kw_only=True)
class PriceFile:
    """What identifies a row of a price file, which of its columns are prices, and which change without meaning."""

    name: str
    key: tuple[str, ...]
    prices: tuple[str, ...]
    silent: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PriceChange:
    """One row that differs; ``factor`` is new price over old of the price that moved most, None where there is none."""

    kind: ChangeKind
    row: str
    before: str
    after: str
    factor: float | None = None


def changes(file: PriceFile, old: Sequence[Row], new: Sequence[Row]) -> list[PriceChange]:
    """Every row that differs, by kind, the largest change of a price first, then by name."""
    before, after = _by_key(file, old), _by_key(file, new)
    moves = [
        change for key in before.keys() | after.keys() if (change := _change(file, before.get(key), after.get(key)))
    ]
    return sorted(moves, key=lambda c: (KIND_ORDER.index(c.kind), -_distance(c), c.row))


def _by_key(file: PriceFile, rows: Sequence[Row]) -> Mapping[tuple[str, ...], Row]:
    return {tuple(row[column] for column in file.key): row for row in rows}


def _change(file: PriceFile, before: Row | None, after: Row | None) -> PriceChange | None:
    row = after or before
    assert row is not None
    name = " ".join(dict.fromkeys(row[column] for column in file.key if row[column]))
    if before is None or after is None:
        kind: ChangeKind = "new" if before is None else "gone"
        return PriceChange(kind=kind, row=name, before=_shown(file, before), after=_shown(file, after))
    factor = _factor(file, before, after)
    if factor is not None:
        return PriceChange(
            kind="price", row=name, before=_shown(file, before), after=_shown(file, after), factor=factor
        )
    moved = [c for c in before if c not in file.silent and before[c] != after.get(c, "")]
    if not moved:
        return None
    shown = ("; ".join(f"{column} {one.get(column) or 'empty'}" for column in moved) for one in (before, after))
    return PriceChange(kind="other", row=name, before=next(shown), after=next(shown))


def _factor(file: PriceFile, before: Row, after: Row) -> float | None:
    """New over old price, of the one that moved most; None where none moved by more than rounding."""
    factors = [
        float(after[column]) / float(before[column])
        for column in file.prices
        if before[column] and after[column] and float(before[column]) > 0
    ]
    moved = [factor for factor in factors if abs(factor - 1.0) > ROUNDING]
    return max(moved, key=_apart, default=None)


ROUNDING = 1e-4
"""Share by which two writings of one price may differ: sources give four to six digits."""


def _apart(factor: float) -> float:
    return max(factor, 1.0 / factor) if factor > 0 else float("inf")


def _distance(change: PriceChange) -> float:
    return 0.0 if change.factor is None else _apart(change.factor)


def _shown(file: PriceFile, row: Row | None) -> str:
    return "" if row is None else " / ".join(row[column] or "none" for column in file.prices)


def table(file: PriceFile, moves: Sequence[PriceChange]) -> str:
    """The changes as text, a screen of each kind, and how many there are."""
    lines = [f"{file.name}: {' / '.join(file.prices)}"]
    for kind in KIND_ORDER:
        of_kind = [change for change in moves if change.kind == kind]
        if not of_kind:
            continue
        lines.append(f"  {kind}: {len(of_kind)}")
        lines += [f"    {change.row}: {_line(change)}" for change in of_kind[:SHOWN]]
        if len(of_kind) > SHOWN:
            lines.append(f"    and {len(of_kind) - SHOWN} more")
    return "\n".join(lines if len(lines) > 1 else [f"{file.name}: nothing has changed."])


def _line(change: PriceChange) -> str:
    if change.kind in ("new", "gone"):
        return change.after or change.before
    by = "" if change.factor is None else f" ({change.factor:.2f} times)"
    return f"{change.before} -> {change.after}{by}"
