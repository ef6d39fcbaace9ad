"""``python -m bench.class_defaults > sizing/data/class_defaults.yaml``: what classes of transformers assume.

A published config.json leaves out what equals the default of its class: every nested section does since transformers
4.46 (gemma-3-12b-it says neither its vocabulary nor the width of a head). The classes are the only complete record of
these numbers. transformers itself is no dependency of the product: importing it takes seconds and brings a hundred
megabytes for what is a table of numbers, and an answer must not change with a version that happens to be installed.
Hence this file of facts, made anew by a person who reads the difference: install transformers into an environment of
its own and run this with its interpreter, PYTHONPATH at the root of this project.

Kept are numbers and ``true`` under names that the reading code names, of classes with a width and a number of layers.
Lists are left out, since a class computes them for its own number of layers. ``text`` is the ``model_type`` of the
language model inside a composite class, which may say that embeddings are not shared although that model's class does.
"""

import argparse
import ast
import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

CATALOG = Path(__file__).resolve().parent.parent / "sizing"
READING = (
    "config_architecture",
    "config_fields",
    "config_json",
    "config_kind",
    "encoder_count",
    "layer_lists",
    "layer_plan",
    "recurrent_mixers",
)
"""Modules of the catalogue that read a configuration: every text in them may be the name of a field."""


def read_names() -> set[str]:
    """Names of fields that are read: in the table of names, and as texts in the code."""
    names = {name for row in yaml.safe_load((CATALOG / "data/config_fields.yaml").read_text()).values() for name in row}
    for path in (CATALOG / f"catalog/{module}.py" for module in READING):
        nodes = ast.walk(ast.parse(path.read_text())) if path.exists() else ()
        names |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return names


def classes() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every configuration class by ``model_type``, the defaults that it declares, and the type of its language model.

    Declared, not those of an object: in its constructor a class derives some (a head's width from that of the model).
    """
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # type: ignore[import-not-found]

    for model_type in sorted(CONFIG_MAPPING):
        cls = CONFIG_MAPPING[model_type]
        declared = {field.name: field.default for field in dataclasses.fields(cls)}
        try:
            inner = cls().to_dict().get("text_config")
        except (
            ValueError,
            TypeError,
            AttributeError,
        ):  # a class that needs an argument has no section of its own making
            inner = None
        yield model_type, declared, str(inner.get("model_type", "")) if isinstance(inner, dict) else ""


def kept(held: dict[str, Any], text: str, names: set[str]) -> dict[str, Any]:
    """The defaults of one class that matter: numbers, ``true``, and whether embeddings are shared."""
    numbers = {
        key: value
        for key, value in held.items()
        if key in names and isinstance(value, int | float) and (value or key == "tie_word_embeddings")
    }
    if text:
        untied = {"tie_word_embeddings": False} if held.get("tie_word_embeddings") is False else {}
        return {"text": text} | untied
    return numbers


def main() -> None:
    """Print the file."""
    argparse.ArgumentParser(prog="python -m bench.class_defaults", description="Defaults of classes.").parse_args()
    from transformers import __version__  # type: ignore[import-not-found]

    fields = yaml.safe_load((CATALOG / "data/config_fields.yaml").read_text())
    names = read_names()
    print("# Defaults of configuration classes by `model_type`, by bench/class_defaults.py; `text` is the type of the")
    print("# language model inside. A field that a config.json leaves out has them; one that it sets to null has not.")
    print(f"source: {{library: transformers, version: {__version__}, date: {datetime.now(UTC).date().isoformat()}}}")
    for model_type, held, text in classes():
        defaults = kept(held, text, names)
        is_language = all(
            any(name in defaults for name in fields[fact]) for fact in ("hidden_size", "layers", "vocab_size")
        )
        if is_language or "text" in defaults:
            print(f"{json.dumps(model_type)}: {json.dumps(defaults)}")


if __name__ == "__main__":
    main()
