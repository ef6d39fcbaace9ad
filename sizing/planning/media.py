"""Images, pages and sound of a plan: the sentence of the answer, what is taken for granted, and warnings."""

import math
from collections.abc import Iterator

from sizing.base.format import count, ms, percent
from sizing.base.result import PlanWarning, PromptMedia
from sizing.base.units import MS_PER_S
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.media import Medium, pictures_text
from sizing.question.understand import Question
from sizing.search.caution import MEDIA_DOUBT
from sizing.steps.encoder import HOST_S_PER_PIXEL, HOST_SOURCE, USUAL_PARAMS, encoder_s

WORTH_APART = 0.25
"""Share of the engine time of a prompt that encoding takes from which on encoders of their own are told. Chosen: in
published runs (Qwen3-VL-4B on 4 A100) one image of 400 tokens gains nothing, four double the load within limits."""

BUSY = 0.7
"""Share of the time that GPUs of an encoder pool are busy at the peak. Chosen: prompts must not queue for them."""

ENCODES_APART = {
    "vllm": "vLLM blog, 2025-12-15, encoder disaggregation",
    "sglang": "SGLang docs, advanced features, EPD disaggregation",
}
"""Engines that give encoders instances of their own, with where that is documented."""


def encoding_s(question: Question, row: Configuration) -> float:
    """Engine time that encoding the images and sound of one request takes on an instance, in s."""
    return float(encoder_s(question.model, table([row]), question.traffic.media)[0])


def prompt_media(question: Question, row: Configuration) -> tuple[PromptMedia, ...]:
    """What a request has beside text, as an answer states it; ``row``: the instances that compute prompts."""
    media = question.traffic.media
    if not media.of_request:
        return ()
    whole = encoding_s(question, row) * MS_PER_S
    rows = media.rows or 1.0
    return tuple(
        PromptMedia(
            kind=one.kind,
            per_request=one.number,
            tokens_each=one.tokens,
            encoder_ms=whole * one.number * one.rows / rows,
            source=one.source,
        )
        for one in media.of_request
    )


def in_words(question: Question, media: tuple[PromptMedia, ...]) -> str:
    """ "Each request brings 4 pages of 2,145 tokens each, 96 % of its prompt of 8,980; encoding takes 98 ms."."""
    what = " and ".join(pictures_text(one) for one in question.traffic.media.of_request)
    share = question.traffic.media.tokens / question.traffic.input_tokens
    took = ms(sum(one.encoder_ms for one in media))
    return (
        f"Each request brings {what}, {percent(share)} of its prompt of {count(question.traffic.input_tokens)} tokens; "
        f"encoding takes {took} of an instance."
    )


def assumed(question: Question) -> Iterator[str]:
    """What is taken for granted of images and sound; nothing where there are none."""
    media, model = question.traffic.media, question.model
    if not media.of_request:
        return
    for one in media.of_request:
        size = "; a page is A4 at 150 dots an inch, 1,240 x 1,754 pixels" if one.kind == "page" else ""
        yield f"Tokens of {_plural(one)}: {one.source}{size}."
    params = model.params_vision or USUAL_PARAMS
    known = "" if model.params_vision else ", taken for the usual one as its size is not known"
    yield (
        f"The encoder ({params / 1e9:.2g} billion parameters{known}) runs in 16 bit at the efficiency of prefill, "
        "on one GPU, within the steps of the engine, and for each request anew: no cache of embeddings. Hardly any "
        "published run with images names all that it depends on: prompts are taken to last up to "
        f"{MEDIA_DOUBT} times as long or as short, which widens the interval."
    )
    if pixels := media.pixels:
        yield (
            f"The front end decodes and scales images one after the other, {ms(HOST_S_PER_PIXEL * 1e6 * MS_PER_S)} a "
            f"megapixel, {ms(HOST_S_PER_PIXEL * pixels * MS_PER_S)} a request here, before the engine has them "
            f"({HOST_SOURCE})."
        )


def about_media(question: Question, row: Configuration, prefill_ms: float | None) -> Iterator[PlanWarning]:
    """Rules about images and sound; ``prefill_ms``: engine time of a prompt, encoding counted."""
    media = question.traffic.media
    for one in media.of_request:
        yield from _about_rule(question, one)
    if not media.of_request or not prefill_ms:
        return
    processes = question.demand.sustained_rps * media.pixels * HOST_S_PER_PIXEL / BUSY
    if processes > 1.0:
        yield PlanWarning(
            code="images_on_host",
            severity="warning",
            source=HOST_SOURCE,
            message=f"Decoding and scaling the images of the peak keeps about {count(math.ceil(processes))} processes "
            "of the front ends busy, over all instances: start as many (vLLM --api-server-count), or decode them "
            "before. In NVIDIA's run one front end made first tokens wait 18 s.",
        )
    share = encoding_s(question, row) * MS_PER_S / prefill_ms
    if share >= WORTH_APART and row.engine.id in ENCODES_APART:
        yield _encoders_apart(question, row, share)


def _encoders_apart(question: Question, row: Configuration, share: float) -> PlanWarning:
    """What a pool of encoders would take, where encoding takes that ``share`` of a prompt."""
    pool = math.ceil(question.demand.sustained_rps * encoding_s(question, row) * row.dp / BUSY)
    return PlanWarning(
        code="encoders_apart",
        severity="info",
        source=ENCODES_APART[row.engine.id],
        message=f"Encoding takes {percent(share)} of the engine time of a prompt. {row.engine.label} can give encoders "
        f"instances of their own (EPD): about {count(pool)} {row.gpu.name} would encode this load at its peak, and no "
        "decode step would wait for it. With one small image a request that gained nothing in published runs, with "
        "four it doubled the load within limits.",
    )


def _about_rule(question: Question, one: Medium) -> Iterator[PlanWarning]:
    """What is not known, or not counted, of the tokens of an image."""
    model = question.model
    if one.assumed:
        yield PlanWarning(
            code="image_tokens_assumed",
            severity="warning",
            source="media_tokens.yaml",
            message=f"How {model.id} turns an image into tokens was not looked up: pieces of 28 pixels are taken, "
            f"as most families have, {count(one.tokens)} tokens here. Ask its processor for the number.",
        )
    if one.beside:
        yield PlanWarning(
            code="images_beside_prompt",
            severity="warning",
            source=one.source,
            message=f"{model.id} attends to images beside the prompt: their keys and values, "
            f"{count(one.number * one.rows)} states a request in its cross-attention layers, are not counted.",
        )


def _plural(one: Medium) -> str:
    return "sound" if one.kind == "sound" else f"an {one.kind}" if one.kind == "image" else f"a {one.kind}"
