import re

import pytest

from sizing.base.result import Plan
from sizing.methodology.glossary import FieldEntry, Term, fields, glossary, result_classes
from sizing.scenario.schema import Limits, Workload


def term_of(name: str) -> Term | None:
    wanted = name.casefold()
    return next((t for t in glossary() if wanted in (name.casefold() for name in (t.name, *t.also, *t.related))), None)


NUMERIC = re.compile(r"\b(int|float)\b")


@pytest.mark.parametrize("entry", fields(), ids=lambda entry: entry.key)
def test_every_public_result_field_is_described(entry: FieldEntry) -> None:
    assert entry.label.strip(), "no label"
    assert entry.help.strip(), "no help"
    assert entry.help.strip().endswith("."), "help is a sentence"


NUMBERS = [entry for entry in fields() if NUMERIC.search(entry.annotation) and entry.result != "Fix"]


@pytest.mark.parametrize("entry", NUMBERS, ids=lambda entry: entry.key)
def test_every_number_has_a_unit_and_a_formula(entry: FieldEntry) -> None:
    assert entry.unit or entry.result == "Estimate", "no unit; write fraction, or what is counted"
    assert entry.formula, "no formula, and nothing that says what decides the value"


@pytest.mark.parametrize("entry", fields(), ids=lambda entry: entry.key)
def test_a_unit_in_a_field_name_is_the_unit_of_the_field(entry: FieldEntry) -> None:
    suffixes = {"_ms": "ms", "_gb": "GB", "_rps": "requests/s", "_kw": "kW", "_usd": "USD"}
    for suffix, unit in suffixes.items():
        if entry.name.endswith(suffix):
            assert entry.unit == unit


def test_the_walk_finds_the_plan_first_and_every_part() -> None:
    names = [cls.__name__ for cls in result_classes()]
    assert names[0] == "Plan"
    assert {"Deployed", "PerInstance", "Latency", "Cost", "Candidate", "Excluded", "Estimate"} <= set(names)
    assert len(names) == len(set(names))
    assert [e.name for e in fields() if e.result == "Plan"] == list(Plan.model_fields)


def test_terms_are_unique_and_every_other_name_leads_to_one_term() -> None:
    names = [t.name.casefold() for t in glossary()]
    assert len(names) == len(set(names))
    assert term_of("inter-token latency") == term_of("itl")
    assert term_of("no such word") is None


@pytest.mark.parametrize("entry", glossary(), ids=lambda entry: entry.name)
def test_every_term_is_explained_in_a_sentence(entry: object) -> None:
    assert entry.meaning.rstrip().endswith(".")
    assert entry.group
    assert len(entry.meaning) < 260


@pytest.mark.parametrize(
    "word",
    [
        "TTFT",
        "ITL",
        "TPOT",
        "E2E",
        "ISL",
        "OSL",
        "prefill",
        "decode",
        "in-flight batching",
        "chunked prefill",
        "KV cache",
        "block",
        "TP",
        "PP",
        "EP",
        "DP",
        "instance",
        "replica",
        "system",
        "concurrency",
        "goodput",
        "dense",
        "sparse",
        "percentile",
        "utilisation",
        "knee",
        "MoE",
        "MLA",
        "GQA",
        "sliding window",
        "BF16",
        "FP8",
        "INT8 SmoothQuant",
        "AWQ",
        "GPTQ",
        "W4A8",
        "NVFP4",
        "MXFP4",
        "prefix cache",
        "conformal interval",
        "Poisson peak",
        "streaming",
        "sequential",
        "offline",
    ],
)
def test_the_words_of_the_product_are_in_the_glossary(word: str) -> None:
    assert term_of(word) is not None


def test_abbreviations_in_labels_are_in_the_glossary() -> None:
    known = {"KV", "USD", "GPU", "GPUs", "B"} | {"GB", "kW"}
    used = {w for e in fields() for w in re.findall(r"\b[A-Z][A-Z0-9]+s?\b", e.label + " " + e.unit)}
    missing = sorted(w for w in used - known if term_of(w) is None)
    assert missing == []


def test_every_workload_mode_and_limit_is_a_term() -> None:
    for mode in Workload.model_fields["mode"].annotation.__args__:
        assert term_of(mode) is not None
    for name in Limits.model_fields:
        assert term_of(name.removesuffix("_ms")) is not None
