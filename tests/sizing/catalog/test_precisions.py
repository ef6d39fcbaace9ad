"""Weight formats: every fact of one stands in its entry of precisions.yaml, and names lead to one format only."""

import pytest

from sizing.catalog import quantization
from sizing.catalog.checkpoint_names import parse
from sizing.catalog.precisions import precisions
from sizing.catalog.support_rows import BLOCK_FP8, by_format


def test_every_name_leads_to_one_format() -> None:
    for names in (
        [name for p in precisions().values() for name in {p.id, *p.aliases}],
        [name for p in precisions().values() for name in (*p.checkpoint_marks, *p.checkpoint_methods)],
        [name for p in precisions().values() for name in p.quant_methods],
    ):
        assert len(names) == len(set(names))


def test_every_format_is_run_by_an_engine() -> None:
    run = {name for (_, _, name, _), fact in by_format().items() if fact.entry in ("native", "weight_only")}
    assert run == {*precisions(), BLOCK_FP8} - {"ternary"}  # of which no table of support says anything


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("nvidia/Llama-3.3-70B-Instruct-FP4", "nvfp4"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8", "fp8"),
        ("Qwen/Qwen2.5-72B-Instruct-AWQ", "int4_awq"),
        ("amd/Llama-3.1-405B-Instruct-MXFP4", "mxfp4"),
        ("meta-llama/Meta-Llama-3-8B", None),
    ],
)
def test_the_name_of_a_checkpoint_tells_its_format(name: str, precision: str | None) -> None:
    told = parse(name).precision
    assert (told.id if told else None) == precision


def test_every_quantised_format_has_its_method_among_the_published_facts() -> None:
    methods = {fact.method for fact in quantization() if fact.record_type == "method"}
    assert {p.published_as for p in precisions().values() if not p.named_only} == methods | {""}
