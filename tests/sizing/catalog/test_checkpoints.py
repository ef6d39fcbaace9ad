"""Published checkpoints: each of a model and format that we know, by a publisher one relies on, with its source."""

import re

import pytest

from sizing.catalog import checkpoints, models, resolve_model
from sizing.catalog.precisions import precisions

PUBLISHERS = {"nvidia", "RedHatAI", "amd", "hugging-quants"}
SAME_VENDOR = {"THUDM": "zai-org", "CohereForAI": "CohereLabs"}
SAYS_NO_FORMAT = re.compile(r"\.w4a16$|-W4A16$")
"""Red Hat's 4-bit weights are calibrated with GPTQ, as their cards say; the name tells the bits alone."""


def vendor(name: str) -> str:
    organisation = name.split("/")[0]
    return SAME_VENDOR.get(organisation, organisation)


def test_each_checkpoint_is_of_its_model_and_format():
    for one in checkpoints():
        known = resolve_model(one.checkpoint)
        assert known.model.id == one.model, one
        assert one.precision in precisions(), one
        if known.precision and not SAYS_NO_FORMAT.search(one.checkpoint):
            assert known.precision.id == one.precision, one


def test_publishers_are_the_vendor_or_one_that_engines_rely_on():
    for one in checkpoints():
        relied_on = vendor(one.checkpoint) in PUBLISHERS | {vendor(one.model)}
        assert relied_on or one.source.startswith("vllm-project/recipes@"), one


def test_a_format_of_a_model_has_one_row_with_source_and_date_and_is_its_own_only_with_a_size():
    of = [(one.model, one.precision) for one in checkpoints()]
    assert len(of) == len(set(of)) > 250
    for one in checkpoints():
        assert one.source, one
        assert re.search(r"20\d\d", one.date), one
        assert one.gigabytes or one.precision != models()[one.model].native_precision, one


def test_sizes_of_checkpoints_have_a_source_and_fit_their_format():
    sized = [one for one in checkpoints() if one.gigabytes]
    assert len(sized) >= 38
    for one in sized:
        model, bits = models()[one.model], precisions()[one.precision].bytes * 8
        assert one.gigabytes_source, one
        assert one.gigabytes >= one.language_gigabytes > 0, one
        stored = one.language_gigabytes * 8e9 / model.params_total
        assert 0.99 * bits <= stored <= 16, (one, stored)
        assert dict(model.stored_bytes)[one.precision] == pytest.approx(one.language_gigabytes * 1e9)


def test_files_of_well_known_checkpoints_have_the_published_size():
    size = {one.checkpoint: one.gigabytes for one in checkpoints()}
    assert size["deepseek-ai/DeepSeek-V3"] == pytest.approx(688.6, abs=0.1)
    assert size["openai/gpt-oss-120b"] == pytest.approx(65.2, abs=0.1)
    assert size["openai/gpt-oss-20b"] == pytest.approx(13.8, abs=0.1)
    assert size["nvidia/Qwen3.6-27B-NVFP4"] == pytest.approx(21.9, abs=0.1)


def test_the_size_of_a_checkpoint_is_not_that_of_another_publisher():
    """Meta's FP8 of Llama 3.1 405B keeps much in 16 bit (57.75 GiB on each of 8 GPUs), NVIDIA's does not (47.7)."""
    meta, nvidia, unnamed = (
        resolve_model(name)
        for name in (
            "meta-llama/Llama-3.1-405B-Instruct-FP8",
            "nvidia/Llama-3.1-405B-Instruct-FP8",
            "llama-3.1-405b-fp8",
        )
    )
    assert dict(meta.model.stored_bytes)["fp8"] == dict(unnamed.model.stored_bytes)["fp8"] == 487.16e9
    assert "fp8" not in dict(nvidia.model.stored_bytes)


def test_formats_of_a_model_are_its_own_and_the_published_ones():
    assert models()["moonshotai/Kimi-K2.5"].published_formats == ("int4_wo", "nvfp4", "mxfp4")
    assert models()["openai/gpt-oss-120b"].published_formats == ("mxfp4",)
    assert models()["tiiuae/falcon-40b"].published_formats == ("bf16",)
    assert not [m.id for m in models().values() if "w4a8_awq" in m.published_formats], "nobody publishes W4A8 AWQ"
