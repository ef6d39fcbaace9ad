"""Reading an expression: a Pratt parser for the part of PromQL that the vocabularies use."""

import re
from collections.abc import Callable

from collectors.backends.scrape.promql.evaluate import FILTERS
from collectors.backends.scrape.promql.tree import (
    Aggregate,
    Binary,
    Call,
    Matcher,
    Negative,
    Node,
    Number,
    Selector,
    Subquery,
    Text,
)
from collectors.errors import UnsupportedExpression
from collectors.prometheus.answers import seconds_of
from commandline.foreign_text import shown

AGGREGATES = frozenset({"sum", "avg", "max", "min", "count", "count_values"})
FUNCTIONS = frozenset(
    {
        "rate",
        "increase",
        "delta",
        "deriv",
        "changes",
        "resets",
        "avg_over_time",
        "max_over_time",
        "min_over_time",
        "sum_over_time",
        "count_over_time",
        "last_over_time",
        "timestamp",
        "time",
        "vector",
        "scalar",
        "abs",
        "clamp_min",
        "clamp_max",
        "histogram_quantile",
    }
)
STRENGTH = {"or": 1, "and": 2, "unless": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3}
STRENGTH |= {"+": 4, "-": 4, "*": 5, "/": 5}
"""How tightly a binary operator binds: the order of precedence in PromQL's documentation."""

MAX_CHARACTERS = 200_000
"""The longest expression that is read. Chosen: far longer than any of ours."""
MAX_DEPTH = 60
"""Levels of brackets. Chosen: far from the limit of recursion."""

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\da-zA-Z_.]))
    | (?P<duration>\d[\da-z.]*)
    | (?P<name>[a-zA-Z_][a-zA-Z0-9_:]*)
    | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<sign>=~|!~|==|!=|<=|>=|[-+*/<>=(){}\[\],:])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_SHORT = {"n": "\n", "r": "\r", "t": "\t"}


def parse(text: str) -> Node:
    """The tree of an expression. Raises UnsupportedExpression."""
    if len(text) > MAX_CHARACTERS:
        raise UnsupportedExpression("The expression is too long.")
    parser = _Parser(_tokens(text))
    node = parser.expression(0)
    if parser.kind != "end":
        raise UnsupportedExpression(f"“{shown(parser.text)}” is not expected in the expression.")
    return node


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise UnsupportedExpression(f"“{shown(text[position : position + 20])}” cannot be read as PromQL.")
        tokens.append((match.lastgroup, match.group(match.lastgroup)))
        position = match.end()
    return [*tokens, ("end", "")]


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._position][0]

    @property
    def text(self) -> str:
        return self._tokens[self._position][1]

    def _next(self) -> str:
        if self.kind == "end":
            raise UnsupportedExpression("The expression ends too early.")
        text = self.text
        self._position += 1
        return text

    def _expect(self, sign: str) -> None:
        if self.kind == "string" or self.text != sign:
            raise UnsupportedExpression(f"“{sign}” is expected before “{shown(self.text)}”.")
        self._next()

    def _accept(self, sign: str) -> bool:
        if self.kind != "string" and self.text == sign:
            self._next()
            return True
        return False

    def expression(self, least: int) -> Node:
        """Everything that binds at least as strongly as ``least``."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UnsupportedExpression("The expression is nested too deeply.")
        left = self._postfix(self._unary())
        while self.kind in ("sign", "name") and STRENGTH.get(self.text, 0) > least:
            sign = self._next()
            as_bool = sign in FILTERS and self._accept("bool")
            on: tuple[str, ...] | None = None
            ignoring: tuple[str, ...] = ()
            if self._accept("on"):
                on = self._labels()
            elif self._accept("ignoring"):
                ignoring = self._labels()
            if self.text in ("group_left", "group_right"):
                raise UnsupportedExpression(f"{shown(self.text)} is not answered without a Prometheus.")
            right = self.expression(STRENGTH[sign])
            left = Binary(sign, left, right, on, ignoring, as_bool)
        self._depth -= 1
        return left

    def _unary(self) -> Node:
        if self._accept("-"):
            return Negative(self._postfix(self._unary()))
        if self._accept("+"):
            return self._unary()
        if self._accept("("):
            inner = self.expression(0)
            self._expect(")")
            return inner
        if self.kind == "number":
            return Number(float(self._next()))
        if self.kind == "string":
            return Text(_unquoted(self._next()))
        if self.kind == "name":
            return self._named()
        if self.text == "{":
            return Selector(self._matchers())
        raise UnsupportedExpression(f"“{shown(self.text) or 'the end'}” is not expected in the expression.")

    def _named(self) -> Node:
        name = self._next()
        if name in AGGREGATES and self.text in ("(", "by", "without"):
            return self._aggregate(name)
        if self.text == "(":
            if name not in FUNCTIONS:
                raise UnsupportedExpression(f"{shown(name)} is not answered without a Prometheus.")
            return Call(name, tuple(self._list(lambda: self.expression(0))))
        if name.lower() in ("inf", "nan"):
            return Number(float(name))
        return Selector(self._matchers() if self.text == "{" else (), name)

    def _aggregate(self, name: str) -> Node:
        labels, without = self._grouping()
        arguments = self._list(lambda: self.expression(0))
        if labels is None:
            labels, without = self._grouping()
        wanted = 2 if name == "count_values" else 1
        if len(arguments) != wanted:
            raise UnsupportedExpression(f"{shown(name)} takes {wanted} arguments.")
        return Aggregate(name, arguments[-1], labels, without, arguments[0] if wanted == 2 else None)

    def _grouping(self) -> tuple[tuple[str, ...] | None, bool]:
        for word in ("by", "without"):
            if self._accept(word):
                return self._labels(), word == "without"
        return None, False

    def _labels(self) -> tuple[str, ...]:
        return tuple(str(label) for label in self._list(self._next))

    def _list(self, item: Callable[[], object]) -> list:  # type: ignore[type-arg]
        self._expect("(")
        items: list[object] = []
        while not self._accept(")"):
            if self.kind == "end":
                raise UnsupportedExpression("A parenthesis is not closed.")
            items.append(item())
            if not self._accept(","):
                self._expect(")")
                break
        return items

    def _matchers(self) -> tuple[Matcher, ...]:
        self._expect("{")
        matchers = []
        while not self._accept("}"):
            label, sign = self._next(), self._next()
            if sign not in ("=", "!=", "=~", "!~") or self.kind != "string":
                raise UnsupportedExpression("A label matcher needs a label, a sign and a value in quotes.")
            matcher = Matcher(label, sign, _unquoted(self._next()))
            if "~" in sign:
                _checked_regex(matcher.value)
            matchers.append(matcher)
            if not self._accept(","):
                self._expect("}")
                break
        return tuple(matchers)

    def _postfix(self, node: Node) -> Node:
        """A range or subquery behind an expression."""
        if not self._accept("["):
            return node
        span = self._duration()
        if self._accept(":"):
            step = self._duration() if self.text != "]" else 15.0
            self._expect("]")
            return Subquery(node, span, step)
        self._expect("]")
        if not isinstance(node, Selector):
            raise UnsupportedExpression("A range belongs behind a metric.")
        return self._postfix(Selector(node.matchers, node.name, span))

    def _duration(self) -> float:
        text = self._next()
        seconds = seconds_of(text)
        if seconds is None or seconds <= 0:
            raise UnsupportedExpression(f"“{shown(text, 20)}” is not a duration such as 5m.")
        return seconds


def _checked_regex(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error:
        raise UnsupportedExpression("A regular expression cannot be read.") from None


def _unquoted(text: str) -> str:
    def char(escape: re.Match[str]) -> str:
        code = escape.group(1)
        return chr(int(code[1:], 16)) if code[0] == "x" and len(code) == 3 else _SHORT.get(code, code)

    return _ESCAPE.sub(char, text[1:-1])
