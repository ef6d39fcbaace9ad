"""How long the host and the encoder of a model take for the images and the sound of a request."""

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.units import BILLION
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.question.media import Media
from sizing.steps.hardware import hardware
from sizing.steps.rates import rates
from sizing.steps.roofline import roofline

USUAL_PARAMS = 0.45 * BILLION
"""Parameters of an encoder whose size is not known: the median of those of the catalogue."""

REFERENCE_PARAMS, REFERENCE_WIDTHS, REFERENCE_LAYERS = 0.411 * BILLION, 27.0 * 1152.0, 27.0
"""SigLIP so400m: 27 layers of 1,152 (Zhai et al. 2023; Alabdulmohsin et al. 2023)."""

HOST_S_PER_PIXEL = 0.1e-6
"""Seconds of a front end to decode and scale a pixel. Derived: vLLM's one front end took 0.72 requests/s of five images
of 2,400 x 1,080 and was what limited the run, as decoding them elsewhere showed (TTFT 18 s against 7 s on one H100)."""

HOST_SOURCE = "NVIDIA Dynamo docs, benchmarks/embedding_cache, 2026: Qwen3.6-35B-A3B FP8"


def encoder_flop(model: Model, media: Media) -> float:
    """FLOP of the encoder for a request: 2 x parameters x rows + 4 x layers x width x pairs of rows that attend.

    Layers x width of a tower of P parameters: 27 x 1,152 x (P / 0.411 billion)^(2/3), as depth and width grow alike;
    within 25 % for towers of 0.3 to 5.6 billion (CLIP-L, SigLIP, Qwen2.5-VL, InternViT-6B). Source: Dosovitskiy et al.
    (2021); a product and a sum count two.
    """
    params = model.params_vision or USUAL_PARAMS
    widths = REFERENCE_WIDTHS * (params / REFERENCE_PARAMS) ** (2.0 / 3.0)
    return float(2.0 * params * media.rows + 4.0 * widths * media.pairs)


def encoder_s(model: Model, candidates: Candidates, media: Media) -> Floats:
    """Engine time of the encoder for a request, (C,): FLOP over the sustained 16-bit matrix rate of one GPU, but at
    least what launching its kernels takes; attention-DP ranks encode apart.

    Tensor parallelism does not shorten it: what it saves in arithmetic goes into collectives. Source: LMSYS blog,
    2026-01-12, EPD: four images of Qwen2.5-VL-72B on H20 take 492, 466 and 524 ms at TP2, 4 and 8.
    """
    source = roofline()
    speed = rates(candidates, hardware(candidates), source.fit, source.software_year)
    computed = encoder_flop(model, media) / speed.wide_matrix[:, 0]
    depth = REFERENCE_LAYERS * ((model.params_vision or USUAL_PARAMS) / REFERENCE_PARAMS) ** (1.0 / 3.0)
    launched = depth * (speed.eager * speed.layer_s)[:, 0]
    return np.asarray(speed.scale[:, 0] * np.maximum(computed, launched) / candidates.dp)
