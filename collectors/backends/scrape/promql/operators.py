"""Vectors by their labels, and the operators between them: arithmetic, comparisons, sets."""

import math
from collections.abc import Callable, Mapping

from collectors.backends.scrape.promql.tree import Binary
from collectors.errors import UnsupportedExpression

Key = tuple[tuple[str, str], ...]
Value = dict[Key, float]
"""A vector: values by labels."""

OPERATE: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b != 0 else math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a),
    "==": lambda a, b: float(a == b),
    "!=": lambda a, b: float(a != b),
    "<": lambda a, b: float(a < b),
    "<=": lambda a, b: float(a <= b),
    ">": lambda a, b: float(a > b),
    ">=": lambda a, b: float(a >= b),
}
FILTERS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def key_of(labels: Mapping[str, str]) -> Key:
    """Labels in an order of their own, so that equal ones are one key."""
    return tuple(sorted(labels.items()))


def nameless(key: Key) -> Key:
    """A key without the name of the metric: what is computed is no longer that metric."""
    return tuple((k, v) for k, v in key if k != "__name__")


def combined(node: Binary, left: Value | float, right: Value | float) -> Value | float:
    """Both sides joined by the operator of ``node``. Raises UnsupportedExpression."""
    if node.sign in ("and", "or", "unless"):
        if isinstance(left, float) or isinstance(right, float):
            raise UnsupportedExpression(f"{node.sign} needs metrics on both sides.")
        return _set(node, left, right)
    operate = OPERATE[node.sign]
    if isinstance(left, float) and isinstance(right, float):
        return operate(left, right)
    if isinstance(right, float):
        return _kept(node, {k: (v, operate(v, right)) for k, v in _only(left).items()})
    if isinstance(left, float):
        return _kept(node, {k: (v, operate(left, v)) for k, v in right.items()})
    others: dict[Key, float] = {}
    for key, value in right.items():
        matched = _matching(key, node)
        if matched in others:
            raise UnsupportedExpression("Several series match one on the other side.")
        others[matched] = value
    pairs = {k: (v, operate(v, others[m])) for k, v in left.items() if (m := _matching(k, node)) in others}
    return _kept(node, pairs)


def _only(value: Value | float) -> Value:
    assert not isinstance(value, float)
    return value


def _kept(node: Binary, results: Mapping[Key, tuple[float, float]]) -> Value:
    """Results without the metric name; a comparison filters and keeps the left value, unless it is a bool one."""
    if node.sign in FILTERS and not node.as_bool:
        return {key: original for key, (original, holds) in results.items() if holds}
    return {nameless(key): result for key, (_, result) in results.items()}


def _set(node: Binary, left: Value, right: Value) -> Value:
    there = {_matching(key, node) for key in right}
    if node.sign == "and":
        return {k: v for k, v in left.items() if _matching(k, node) in there}
    if node.sign == "unless":
        return {k: v for k, v in left.items() if _matching(k, node) not in there}
    here = {_matching(key, node) for key in left}
    return {**left, **{k: v for k, v in right.items() if _matching(k, node) not in here}}


def _matching(key: Key, node: Binary) -> Key:
    if node.on is not None:
        return tuple((k, v) for k, v in key if k in node.on)
    return tuple((k, v) for k, v in key if k not in node.ignoring and k != "__name__")
