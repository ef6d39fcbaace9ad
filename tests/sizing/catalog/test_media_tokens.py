"""Tokens of images and sound against the processors of transformers 5.24, read from its wheel."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from sizing.catalog import Model, models
from sizing.catalog.media_tokens import ImageRule, image_rule, readers, sound_rule

ROWS = list(csv.DictReader((Path(__file__).parent / "image_tokens.csv").read_text(encoding="utf-8").splitlines()))


def rule(model: str) -> ImageRule:
    known = image_rule(models()[model])
    assert known is not None
    return known


FAMILIES = {
    "Qwen2.5-VL, 1 megapixel": replace(rule("Qwen/Qwen2-VL-7B-Instruct"), most_pixels=1_003_520),
    "Qwen2.5-VL": rule("Qwen/Qwen2.5-VL-7B-Instruct"),
    "Qwen3-VL": rule("Qwen/Qwen3-VL-8B-Instruct"),
    "Gemma 3": rule("google/gemma-3-27b-it"),
    "Gemma 4, 70 soft tokens": replace(rule("google/gemma-4-31B-it"), tokens=70),
    "Gemma 4": rule("google/gemma-4-31B-it"),
    "Gemma 4, 1120 soft tokens": replace(rule("google/gemma-4-31B-it"), tokens=1120),
    "Pixtral": rule("mistralai/Pixtral-12B-2409"),
    "Mistral Small 3": rule("mistralai/Mistral-Small-3.2-24B-Instruct-2506"),
    "Kimi-K2.5": rule("moonshotai/Kimi-K2.5"),
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['family']} {row['width']} x {row['height']}")
def test_an_image_has_as_many_tokens_as_its_processor_makes(row):
    assert FAMILIES[row["family"]].of(int(row["width"]), int(row["height"])).tokens == int(row["tokens"])


def test_every_family_with_rows_is_tried():
    assert {row["family"] for row in ROWS} == set(FAMILIES)
    assert len(ROWS) == 70


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("OpenGVLab/InternVL3-8B", (448, 448), 256),
        ("OpenGVLab/InternVL3-8B", (1024, 1024), 10 * 256),
        ("OpenGVLab/InternVL3-8B", (896, 448), 3 * 256),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", (336, 336), 144 + 1 + 3),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", (672, 672), 5 * 144 + 4 + 3),
        ("microsoft/Phi-3.5-vision-instruct", (336, 336), 757),
        ("llava-hf/llava-1.5-7b-hf", (500, 300), 576),
    ],
)
def test_tiles_are_those_of_the_processor(model, size, tokens):
    """Tiles of 448 pixels and a thumbnail; Llama 4's tiles with separators; Phi-3.5's 757 tokens of four crops."""
    assert rule(model).of(*size).tokens == tokens


def test_what_is_attended_to_beside_the_prompt_takes_one_token():
    seen = rule("meta-llama/Llama-3.2-11B-Vision-Instruct").of(1000, 1000)
    assert seen.tokens == 1
    assert len(seen.patches) == 4


@pytest.mark.parametrize(
    ("model", "seconds", "tokens", "frames"),
    [
        ("mistralai/Voxtral-Mini-3B-2507", 1, 375, 1500),
        ("mistralai/Voxtral-Mini-3B-2507", 31, 750, 3000),
        ("google/gemma-4-E4B-it", 0.05, 2, 1.25),
        ("google/gemma-4-E4B-it", 120, 750, 3000),
        ("microsoft/Phi-4-multimodal-instruct", 8, 100, 100),
    ],
)
def test_sound_has_as_many_tokens_as_its_model_makes(model, seconds, tokens, frames):
    known = sound_rule(models()[model])
    assert known.of(seconds) == (tokens, frames)


def of_class(name: str) -> Model:
    return replace(models()["Qwen/Qwen3-30B-A3B"], hf_architecture=name, params_vision=1e9)


@pytest.mark.parametrize(
    ("name", "seconds", "tokens", "frames"),
    [
        ("Qwen3OmniMoeForConditionalGeneration", 10, 130, 130),
        ("Qwen3OmniMoeForConditionalGeneration", 0.5, 7, 6.5),
        ("Qwen3ASRForConditionalGeneration", 60, 780, 780),
        ("Qwen2_5OmniModel", 10, 250, 500),
        ("Qwen2AudioForConditionalGeneration", 45, 750, 2250),
        ("AudioFlamingo3ForConditionalGeneration", 600, 15_000, 30_000),
        ("GraniteSpeechForConditionalGeneration", 3, 30, 150),
        ("VoxtralRealtimeForConditionalGeneration", 4, 50, 200),
        ("GlmAsrForConditionalGeneration", 8, 100, 400),
    ],
)
def test_sound_of_families_that_the_catalogue_does_not_hold(name, seconds, tokens, frames):
    """Whole seconds by the lengths that each processor of transformers 5.24 counts."""
    assert sound_rule(of_class(name)).of(seconds) == (tokens, frames)


def test_what_listens_and_sees_does_both():
    omni = image_rule(of_class("Qwen3OmniMoeForConditionalGeneration"))
    assert not omni.assumed
    assert omni.of(1024, 1024).tokens == 32 * 32
    assert image_rule(of_class("Qwen2_5OmniForConditionalGeneration")).of(1008, 1008).tokens == 36 * 36
    assert image_rule(of_class("Qwen3ASRForConditionalGeneration")) is None


def test_text_alone_is_no_image_and_a_family_not_looked_up_says_so():
    assert image_rule(models()["meta-llama/Llama-3.3-70B-Instruct"]) is None
    assert sound_rule(models()["google/gemma-4-31B-it"]) is None
    unknown = image_rule(models()["allenai/Molmo2-8B"])
    assert unknown.assumed
    assert image_rule(models()["mistralai/Voxtral-Mini-3B-2507"]) is None


def test_models_that_read_images_are_proposed_of_the_same_developer_first():
    qwen = models()["Qwen/Qwen3-32B"]
    named = readers(qwen, models().values(), image_rule)
    assert all(models()[name].developer == qwen.developer for name in named[:3])
    assert not any("Guard" in name for name in named)


@pytest.mark.parametrize("known", list(FAMILIES.values()), ids=list(FAMILIES))
def test_no_size_breaks_a_rule(known):
    for size in ((1, 1), (1, 20_000), (20_000, 1), (20_000, 20_000), (37, 911)):
        seen = known.of(*size)
        assert seen.tokens >= 1
        assert min(seen.patches) >= 1
