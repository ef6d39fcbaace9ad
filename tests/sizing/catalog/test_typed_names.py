"""Names as people type them: registries, hosts, Ollama, Bedrock, conversions and the shorthand of benchmarks."""

import csv
import re
from pathlib import Path

import pytest

from sizing.catalog import models, resolve_model
from sizing.catalog.checkpoint_names import parse

NAMES = list(csv.DictReader((Path(__file__).parent / "typed_names.csv").read_text(encoding="utf-8").splitlines()))
PLAIN_SIZE = re.compile(r"^(\d+(?:\.\d+)?)([bm])$")
SAYS_ANOTHER_SIZE = re.compile(r"llama-?4|lfm-2\.2-6b|minicpm-2b", re.IGNORECASE)
"""Llama 4 says its active parameters, OpenRouter writes 2.6 as 2.2-6; MiniCPM-2B counts no embeddings."""


def test_hundreds_of_names_are_checked_once_each():
    assert len({row["name"] for row in NAMES}) == len(NAMES) > 900
    assert {row["model"] for row in NAMES} <= set(models())


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row["name"])
def test_a_typed_name_leads_to_its_model_and_format(row):
    resolved = resolve_model(row["name"])
    assert resolved.model.id == row["model"]
    assert resolved.match != "size"
    assert resolved.weight_format.id == (row["precision"] or resolved.model.native_precision)


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row["name"])
def test_a_model_has_the_size_that_the_name_says(row):
    sizes = [found for text in parse(row["name"]).texts("size") if (found := PLAIN_SIZE.match(text))]
    if len(sizes) != 1 or SAYS_ANOTHER_SIZE.search(row["name"]):
        return
    said = float(sizes[0][1]) * (1e9 if sizes[0][2] == "b" else 1e6)
    model = resolve_model(row["name"]).model
    assert 0.75 <= (model.params_total + model.params_vision) / said <= 1.31
