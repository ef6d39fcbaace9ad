"""``python -m calibration.class_defaults > sizing/data/class_defaults.yaml``: what classes of transformers assume.

A published config.json leaves out what equals the default of its class: every nested section does since transformers
4.46 (gemma-3-12b-it says neither its vocabulary nor the width of a head). The classes are the only complete record of
these numbers. transformers itself is no dependency of the product: importing it takes seconds and brings a hundred
megabytes for what is a table of numbers, and an answer must not change with a version that happens to be installed.
Hence this file of facts, made anew by a person who reads the difference: install transformers into an environment of
its own and run this with its interpreter, PYTHONPATH at the root of this project.

Kept are numbers and ``true`` under names that the reading code names, of classes with a width and a number of layers.
Of lists over layers, which a class computes, the period is kept where there is
one (``every``), else the list for the class's own number of layers (``lists``). ``text`` is the ``model_type`` of the
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
LISTS = ("layer_types", "layers_block_type", "mlp_layer_types", "cross_attention_layers")
"""Lists over layers that classes fill in."""

LONGEST_PERIOD = 16
"""Chosen: the longest period of a published model is 10 layers (Granite 4)."""

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


def classes() -> Iterator[tuple[str, dict[str, Any], str, dict[str, Any]]]:
    """Every configuration class by ``model_type``: defaults that it declares, type of its language model, lists.

    Declared, not those of an object: in its constructor a class derives some (a head's width from that of the model).
    """
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # type: ignore[import-not-found]

    for model_type in sorted(CONFIG_MAPPING):
        cls = CONFIG_MAPPING[model_type]
        declared = {field.name: field.default for field in dataclasses.fields(cls)}
        built = object_of(cls)
        inner = built.get("text_config")
        text = str(inner.get("model_type", "")) if isinstance(inner, dict) else ""
        yield model_type, declared, text, {} if text else lists_of(cls, built)


def object_of(cls: Any, **given: int) -> dict[str, Any]:
    """What an object of a class holds; nothing where the class cannot be made from what is given."""
    try:
        return dict(cls(**given).to_dict())
    except (ValueError, TypeError, AttributeError, KeyError, IndexError):
        return {}
    except Exception as error:
        if "StrictDataclass" in type(error).__name__:  # huggingface_hub's own errors of validation
            return {}
        raise


def lists_of(cls: Any, built: dict[str, Any]) -> dict[str, Any]:
    """The lists over layers of a class, by whether they repeat for other numbers of layers, too."""
    kept_lists: dict[str, Any] = {}
    layers = built.get("num_hidden_layers")
    for key in LISTS:
        listed = built.get(key)
        if not isinstance(listed, list) or not isinstance(layers, int) or set(listed) <= {"full_attention"}:
            continue
        longer = object_of(cls, num_hidden_layers=layers + LONGEST_PERIOD * 3).get(key)
        period = period_of(listed, longer if isinstance(longer, list) else [])
        kind, value = ("every", listed[:period]) if period else ("lists", listed)
        kept_lists.setdefault(kind, {})[key] = value
    return kept_lists


def period_of(listed: list[Any], longer: list[Any]) -> int:
    """Length of the period that both lists have; 0 where they have none."""
    if len(longer) <= len(listed):
        return 0
    periods = range(1, LONGEST_PERIOD + 1)
    return next((p for p in periods if all(v == one[i % p] for one in (listed, longer) for i, v in enumerate(one))), 0)


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
    argparse.ArgumentParser(
        prog="python -m calibration.class_defaults", description="Defaults of classes."
    ).parse_args()
    from transformers import __version__  # type: ignore[import-not-found]

    fields = yaml.safe_load((CATALOG / "data/config_fields.yaml").read_text())
    names = read_names()
    print(
        "# Defaults of configuration classes by `model_type`, by calibration/class_defaults.py; `text` is the type of"
    )
    print(
        "# the language model inside. A field that a config.json leaves out has them; one that it sets to null has not."
    )
    today = datetime.now(UTC).date().isoformat()
    print(f'"source": {json.dumps({"library": "transformers", "version": __version__, "date": today})}')
    for model_type, held, text, lists in classes():
        defaults = kept(held, text, names) | lists
        is_language = all(any(name in defaults for name in fields[fact]) for fact in ("hidden_size", "vocab_size"))
        if is_language or "text" in defaults:
            print(f"{json.dumps(model_type)}: {json.dumps(defaults)}")


if __name__ == "__main__":
    main()
