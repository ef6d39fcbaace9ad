"""A plan with images, pages or sound: longer prompts, encoder and front end before first tokens, and what is said."""

from typing import Any

import numpy as np
import pytest

from sizing import Scenario, plan
from sizing.base.errors import InvalidScenario
from sizing.catalog import models
from sizing.deployments.candidates import table
from sizing.question.length_distributions import FixedLength, GroupedLength, LognormalLength
from sizing.question.media import Media, Medium
from sizing.question.understand import at_lengths, understand
from sizing.search.replicas import as_replica
from sizing.search.screen import all_configurations, evaluate
from sizing.steps.encoder import HOST_S_PER_PIXEL, encoder_flop, encoder_s
from tests.sizing.asking import raw

VL = "Qwen/Qwen3-VL-30B-A3B-Instruct"
H100 = {"gpus": ["h100_sxm"], "engines": ["vllm"], "speculation": "off"}


def keys(model: str = VL, workload: Any = None, **more: Any) -> dict[str, Any]:
    lengths = {"input_tokens": 400, "output_tokens": 150, "peak_rps": 5, **(workload or {})}
    return raw(model, workload=lengths, deployment=H100, **more)


def asked(model: str = VL, workload: Any = None, **more: Any) -> Scenario:
    return Scenario.model_validate(keys(model, workload, **more))


def test_tokens_of_pages_come_on_top_of_the_prompt():
    question = understand(asked(workload={"pages": 4}))
    assert question.traffic.media.tokens == 4 * 55 * 39
    assert question.traffic.input_tokens == question.prompt.mean == 400 + 8580
    both = understand(asked(workload={"pages": 1, "images": {"per_request": 2, "width": 640, "height": 640}}))
    assert both.traffic.input_tokens == 400 + 2145 + 2 * 400


@pytest.mark.parametrize(
    "length", [FixedLength(tokens=400.0), LognormalLength(p50=400.0, p95=1600.0), GroupedLength(groups=(100.0, 900.0))]
)
def test_a_longer_prompt_has_the_larger_mean_and_the_same_spread(length):
    longer = length.longer(2000.0)
    assert longer.mean == pytest.approx(length.mean + 2000.0)
    assert longer.variation * longer.mean**2 == pytest.approx(length.variation * length.mean**2)


def test_an_encoder_computes_parameters_for_each_row_and_pairs_of_rows():
    one = Medium(kind="image", number=2.0, tokens=400, rows=1600.0, pairs=1600.0**2, source="")
    model = models()[VL]
    flop = encoder_flop(model, Media(of_request=(one,)))
    linear, attention = 2 * model.params_vision * 3200, 4 * 27 * 1152 * 2 * 1600**2
    assert flop == pytest.approx(linear + attention * (model.params_vision / 0.411e9) ** (2 / 3))


@pytest.mark.parametrize(
    ("model", "layers_by_width"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", 32 * 1280),
        ("google/gemma-3-27b-it", 27 * 1152),
        ("OpenGVLab/InternVL3-78B", 45 * 3200),
        ("llava-hf/llava-1.5-7b-hf", 24 * 1024),
        ("mistralai/Pixtral-12B-2409", 24 * 1024),
    ],
)
def test_depth_and_width_of_published_towers_follow_from_their_parameters(model, layers_by_width):
    pair = Medium(kind="image", number=1.0, tokens=1, rows=0.0, pairs=1.0, source="")
    assert encoder_flop(models()[model], Media(of_request=(pair,))) / 4 == pytest.approx(layers_by_width, rel=0.35)


def test_prompts_take_the_encoder_and_the_simulation_knows_it():
    questions = [understand(asked(workload=w)).as_expected() for w in ({"input_tokens": 8980}, {"pages": 4})]
    text, pages = (evaluate(q, table(all_configurations(q).rows[:1])) for q in questions)
    row = pages.candidates.rows[0]
    encoding = float(encoder_s(questions[1].model, table([row]), questions[1].traffic.media)[0])
    assert encoding > 0.0
    assert float(pages.times.prefill_s[0] - text.times.prefill_s[0]) == pytest.approx(encoding)
    assert np.array_equal(pages.times.decode_s, text.times.decode_s)
    replicas = [as_replica(q, row) for q in questions]
    assert (replicas[1].grid.token_s - replicas[0].grid.token_s) * 8980 == pytest.approx(encoding)
    host = 4 * 1240 * 1754 * HOST_S_PER_PIXEL
    assert replicas[1].request_s - replicas[0].request_s == pytest.approx(host)
    assert float(pages.times.front_s[0] - text.times.front_s[0]) == pytest.approx(host)


def test_at_other_lengths_the_pages_stay():
    question = understand(asked(workload={"pages": 4}))
    assert at_lengths(question, 5000.0, 100.0).traffic.media == question.traffic.media


def test_the_answer_says_what_each_request_brings():
    found = plan(asked(workload={"pages": 4, "peak_rps": 20}))
    sentence = next(s.text for s in found.sentences if s.about == "inputs")
    assert sentence.startswith("Each request brings 4 pages of 2,145 tokens each, 96 % of its prompt of 8,980 tokens")
    (one,) = found.media
    assert (one.kind, one.per_request, one.tokens_each) == ("page", 4.0, 2145.0)
    assert one.encoder_ms > 0.0
    codes = {w.code for w in found.warnings}
    assert {"encoders_apart", "images_on_host"} <= codes
    assert any("1,240 x 1,754 pixels" in text for text in found.assumptions)
    plain = plan(asked())
    assert '"media"' not in plain.model_dump_json()
    assert found.deployment.gpus > plain.deployment.gpus


def test_a_model_of_text_alone_names_siblings_that_read_images():
    with pytest.raises(InvalidScenario, match=r"Qwen3-32B reads no images: choose a model that does, such as Qwen/"):
        plan(asked("Qwen/Qwen3-32B", {"pages": 4}))
    with pytest.raises(InvalidScenario, match="does not listen: choose a model that does"):
        plan(asked("Qwen/Qwen3-32B", {"audio_seconds": 60}))


def test_a_family_not_looked_up_and_images_beside_the_prompt_are_warned_of():
    image = {"images": {"per_request": 1}}
    codes = {w.code for w in plan(asked("allenai/Molmo2-8B", image)).warnings}
    assert "image_tokens_assumed" in codes
    llama = plan(asked("meta-llama/Llama-3.2-11B-Vision-Instruct", image))
    assert "images_beside_prompt" in {w.code for w in llama.warnings}
    assert "one image beside the prompt" in llama.answer


def test_sound_is_part_of_the_prompt():
    question = understand(asked("mistralai/Voxtral-Mini-3B-2507", {"audio_seconds": 120}))
    assert question.traffic.input_tokens == 400 + 4 * 375


def test_pages_that_fill_the_window_are_told_with_a_shorter_prompt():
    found = plan(asked(workload={"input_tokens": 20_000, "pages": 120}))
    warning = next(w for w in found.warnings if w.code == "context_exceeded")
    assert warning.fix.value == 262_144 - 150 - 120 * 2145


@pytest.mark.parametrize(
    "bad", [{"pages": 0}, {"images": {"per_request": 1, "width": 0}}, {"audio_seconds": -1}, {"images": 3}]
)
def test_bad_media_are_refused(bad):
    with pytest.raises((InvalidScenario, ValueError)):
        asked(workload=bad)


def test_a_run_that_names_size_and_load_is_met():
    """NVIDIA Dynamo docs, Qwen3-VL embedding cache, off: 20.5 requests/s of 64 in flight on one GB200, an image each of
    the 2,400 x 1,080 pixels that its generator makes (the page does not print them) and 400 tokens of text."""
    image = {"images": {"per_request": 1, "width": 2400, "height": 1080}}
    place = {"gpus": ["gb200"], "engines": ["vllm"], "precisions": ["fp8"], "tp": [1], "speculation": "off"}
    scenario = Scenario.model_validate(keys(workload=image) | {"deployment": place})
    question = understand(scenario).as_expected()
    state = evaluate(question, all_configurations(question)).state
    rate = float(np.interp(64.0, state.concurrency[0], state.rps[0]))
    assert rate == pytest.approx(20.5, rel=0.25)


@pytest.mark.parametrize(("tp", "seconds"), [(2, 0.492), (4, 0.466), (8, 0.524)])
def test_a_published_encoder_takes_about_as_long_whatever_the_parallelism(tp, seconds):
    """LMSYS blog, 2026-01-12: Qwen2.5-VL-72B on H20, four images a request; 1080p, as in its benchmark."""
    place = {"gpus": ["h20"], "engines": ["sglang"], "precisions": ["bf16"], "tp": [tp], "pp": [1]}
    images = {"images": {"per_request": 4, "width": 1920, "height": 1080}}
    scenario = Scenario.model_validate(keys("Qwen/Qwen2.5-VL-72B-Instruct", images) | {"deployment": place})
    question = understand(scenario)
    row = table(all_configurations(question).rows[:1])
    assert float(encoder_s(question.model, row, question.traffic.media)[0]) == pytest.approx(seconds, rel=0.15)
