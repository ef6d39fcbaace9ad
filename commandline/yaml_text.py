"""YAML that users hand in: safe, each key once, and no more work than its length warrants."""

from itertools import accumulate
from typing import Any, ClassVar

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from commandline.foreign_text import shown

MERGE, TEXT, INT = (f"tag:yaml.org,2002:{kind}" for kind in ("merge", "str", "int"))
NUMBERS = frozenset({INT, "tag:yaml.org,2002:float"})

MOST_MERGED = 10_000
"""Pairs that ``<<`` copies in one file. Chosen: far more than anybody writes; repeated merges grow tenfold a level."""

MOST_BITS = 14_000
"""Of a whole number: Python turns no longer one into text, and refuses one of as many decimal digits itself."""


MOST_VALUES = 100_000
"""Values and keys of a file. Chosen: ten times what a long scenario has, and read in a second or two."""


MOST_NESTED = 1_000
"""Brackets within each other that libyaml scans since PyYAML 6.0.4; it calls more a fault of the text."""


class BadYaml(ValueError):
    """A text is no YAML that can be read; the message is one sentence."""


def read_yaml(text: str, name: str, *, text_keys: bool = True, most_values: int = MOST_VALUES) -> Any:
    """What a YAML text holds; ``name`` is what sentences call it. Raises BadYaml, or RecursionError for deep nesting.

    ``text_keys``: refuse keys that are no text.
    """
    try:
        loader = _Loader(text, text_keys, most_values)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        if _nesting(text) > MOST_NESTED:
            raise RecursionError("nested too deeply for the scanner") from None
        mark = getattr(error, "problem_mark", None)
        last = max(len(text.splitlines()), 1)  # the end of a file may count as one line more
        where = f" at line {min(mark.line + 1, last)}" if mark is not None else ""
        raise BadYaml(f"{name} is not valid YAML or JSON{where}.") from None
    except UnicodeEncodeError:
        raise BadYaml(f"{name} holds half a character (a lone surrogate): type it again.") from None


def _nesting(text: str) -> int:
    """Brackets within each other, at most, those in texts included."""
    return max(accumulate(1 if c in "[{" else -1 for c in text if c in "[]{}"), default=0)


if yaml.__with_libyaml__:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined]
else:

    class _Parser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser):  # type: ignore[no-redef]
        def __init__(self, stream: str) -> None:
            yaml.reader.Reader.__init__(self, stream)
            yaml.scanner.Scanner.__init__(self)
            yaml.parser.Parser.__init__(self)


class _Loader(Composer, _Parser, SafeConstructor, Resolver):
    """The fast parser under PyYAML's own composer: the one in C has no end of nesting but that of the stack."""

    def __init__(self, stream: str, text_keys: bool, most_values: int) -> None:
        _Parser.__init__(self, stream)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)
        self.text_keys, self.most_values = text_keys, most_values
        self.values = self.merged = 0

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a value. YAML 1.1 reads 1:30 as 90, to base sixty; here it is text, which is no number."""
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        return TEXT if tag in NUMBERS and ":" in value else tag

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        """A value or key, counted: each takes longer than its characters do."""
        self.values += 1
        if self.values > self.most_values:
            raise BadYaml(f"A YAML file may hold {self.most_values:,} values: write one that holds more as JSON.")
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A mapping; of a key that stands twice, which of two values was meant cannot be guessed."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if self.text_keys and key.tag not in (TEXT, MERGE):
                line = key.start_mark.line + 1
                raise BadYaml(f"The key “{shown(key.value)}” at line {line} is not text: put it in quotes.")
            if key.value in seen:
                again = f"stands twice, again at line {key.start_mark.line + 1}"
                raise BadYaml(f"The key {shown(key.value)} {again}: keep one of them.")
            seen.add(key.value)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node. Constructors of PyYAML raise whatever meets them; a value of a kind that it cannot be,
        such as ``!!bool x`` or a date that does not exist, is one fault with its line."""
        try:
            return super().construct_object(node, deep)
        except (BadYaml, yaml.YAMLError, RecursionError):
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            line = node.start_mark.line + 1
            problem = f"The value at line {line} cannot be read: put it in quotes if it is meant as text."
            raise BadYaml(problem) from None

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """A whole number, no longer in other bases than Python lets decimal ones be; none is to base sixty."""
        if ":" in node.value:
            raise ValueError("base sixty")
        number: int = super().construct_yaml_int(node)
        if number.bit_length() > MOST_BITS:
            raise ValueError("too long")
        return number

    yaml_constructors: ClassVar = {**SafeConstructor.yaml_constructors, INT: construct_yaml_int}

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put in what ``<<`` names: the keys of other mappings, the first named before the later, its own before all.

        Every key stands in the mapping once, and all copies of a file are counted before they are made.
        """
        own = [pair for pair in node.value if pair[0].tag != MERGE]
        named = [value for key, value in node.value if key.tag == MERGE]
        node.value = own  # so that one which names itself comes to an end
        parts = [part for value in named for part in (value.value if isinstance(value, yaml.SequenceNode) else [value])]
        pairs: dict[object, tuple[yaml.Node, yaml.Node]] = {}
        for part in reversed(parts):
            if not isinstance(part, yaml.MappingNode):
                raise yaml.constructor.ConstructorError(None, None, "no mapping to merge", part.start_mark)
            self.flatten_mapping(part)
            self.merged += len(part.value)
            if self.merged > MOST_MERGED:
                line = node.start_mark.line + 1
                raise BadYaml(f"The keys merged by << at line {line} are too many: write them out.")
            pairs |= _by_key(part.value)
        if named:
            node.value = list((pairs | _by_key(own)).values())


def _by_key(pairs: list[tuple[yaml.Node, yaml.Node]]) -> dict[object, tuple[yaml.Node, yaml.Node]]:
    return {(p[0].tag, p[0].value) if isinstance(p[0], yaml.ScalarNode) else id(p[0]): p for p in pairs}
