"""YAML as scenario files may use it."""

from __future__ import annotations

from typing import Any

import yaml

from sizing.base.errors import InvalidScenario

MERGE, TEXT = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:str"
NUMBERS = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})


class ScenarioLoader(yaml.SafeLoader):
    """Safe YAML in which a key that stands twice is an error: which of two rates was meant cannot be guessed.

    Not the faster C parser: deep nesting overflows its stack.
    """

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a value. YAML 1.1 reads 1:30 as 90, to base sixty; here it is text, which is no number."""
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        return TEXT if tag in NUMBERS and ":" in value else tag

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node. Constructors of PyYAML raise whatever meets them; a value of a kind that it cannot be,
        such as ``!!bool x`` or a date that does not exist, is one fault with its line."""
        try:
            return super().construct_object(node, deep)
        except (InvalidScenario, yaml.YAMLError, RecursionError):
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            line = node.start_mark.line + 1
            problem = f"The value at line {line} cannot be read: put it in quotes if it is meant as text."
            raise InvalidScenario([problem]) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping of a node."""
        seen: set[str] = set()
        pairs: list[tuple[yaml.Node, yaml.Node]] = node.value if node.id == "mapping" else []  # "!!set x" is none
        for key, _ in pairs:
            if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
                continue
            if key.value in seen:
                line = key.start_mark.line + 1
                problem = f"The key {key.value:.40} stands twice, again at line {line}: keep one of them."
                raise InvalidScenario([problem])
            seen.add(key.value)
        return super().construct_mapping(node, deep)
