"""A JSON Schema of a class in a module of generated pydantic models: ``python convert.py MODULE.py CLASS > FILE.json``.

Only the fields of the classes that it leads to are read, so that nothing which the package needs has to be installed.
Descriptions and defaults are left out; a field that may be null is one that may be missing, as an API server sees it.
"""

import ast
import enum
import json
import sys
import types
import typing
from pathlib import Path
from typing import Any

import pydantic

PYDANTIC = ("AwareDatetime", "BaseModel", "ConfigDict", "Field", "RootModel")
ELSEWHERE = ("PlannerConfig",)
"""Classes that a module imports from others of its package: taken as objects of any content."""


def schema_of(source: str, root: str) -> dict[str, Any]:
    """The schema of one class of a module's source."""
    tree = ast.parse(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    wanted, waiting = set[str](), [root]
    while waiting:
        if (name := waiting.pop()) not in wanted:
            wanted.add(name)
            classes[name] = fields_alone(classes[name])
            waiting += {n.id for n in ast.walk(classes[name]) if isinstance(n, ast.Name)} & classes.keys()
    module = types.ModuleType("models")
    sys.modules["models"] = module
    vars(module).update({name: getattr(typing, name) for name in typing.__all__})
    vars(module).update({name: getattr(pydantic, name) for name in PYDANTIC})
    vars(module).update({"Enum": enum.Enum, **dict.fromkeys(ELSEWHERE, dict[str, Any])})
    code = "\n".join(ast.unparse(classes[name]) for name in classes if name in wanted)
    exec(f"from __future__ import annotations\n{code}", vars(module))
    whole: dict[str, Any] = vars(module)[root].model_json_schema()
    return whole


def fields_alone(node: ast.ClassDef) -> ast.ClassDef:
    """A class without methods and decorators."""
    body: list[ast.stmt] = [one for one in node.body if isinstance(one, ast.AnnAssign | ast.Assign)]
    return ast.ClassDef(node.name, node.bases, node.keywords, body or [ast.Pass()], [])


def bare(value: Any) -> Any:
    """A schema without what does not restrict; objects take the fields that they name and no others."""
    if isinstance(value, list):
        return [bare(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("pattern", "").startswith("^(?i)"):  # RE2 has a flag anywhere, Python at the start alone
        return bare(value | {"pattern": f"(?i)^{value['pattern'].removeprefix('^(?i)')}"})
    null = {"type": "null"}
    if null in value.get("anyOf", []) and len(value["anyOf"]) == 2:
        return bare(next(one for one in value["anyOf"] if one != null))
    out = {key: bare(one) for key, one in value.items() if key not in ("description", "title", "default")}
    for key in value.keys() & {"properties", "$defs"}:
        out[key] = {name: bare(one) for name, one in value[key].items()}
    return ({"additionalProperties": False} if "properties" in out else {}) | out


if __name__ == "__main__":
    print(json.dumps(bare(schema_of(Path(sys.argv[1]).read_text(), sys.argv[2])), indent=1))
