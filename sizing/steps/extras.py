"""What requests take beside the tokens of the model: adapters that steps apply, and images or sound to be encoded."""

from dataclasses import dataclass, replace

import numpy as np

from sizing.base.arrays import Columns, Floats
from sizing.catalog.adapters import adapter_bytes, adapter_support
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.question.adapters import NO_ADAPTERS, RARELY
from sizing.question.traffic import Traffic
from sizing.steps.encoder import HOST_S_PER_PIXEL, encoder_s
from sizing.steps.times import StepTimes


@dataclass(frozen=True, kw_only=True)
class Extras(Columns):
    """Of each candidate, (C,): every step lasts ``slower`` times as long, a request takes ``work_s`` seconds of the
    engine beside its tokens, and its first token waits ``wait_s`` more."""

    slower: Floats
    work_s: Floats
    wait_s: Floats


def extras_of(model: Model, candidates: Candidates, traffic: Traffic) -> Extras | None:
    """What adapters and encoders take, and front ends to decode images; None where a question has neither.

    Engines encode within a step of prompts, so that others wait (vLLM 0.33.0, v1/worker/gpu_model_runner.py,
    ``_execute_mm_encoder``).
    """
    adapters = candidates.rows[0].adapters if len(candidates) else NO_ADAPTERS
    if not adapters.number and not traffic.media.of_request:
        return None
    none = np.zeros(len(candidates))
    encoded = encoder_s(model, candidates, traffic.media) if traffic.media.of_request else none
    decoded_s = HOST_S_PER_PIXEL * traffic.media.pixels
    if not adapters.number:
        return Extras(slower=none + 1.0, work_s=encoded, wait_s=none + decoded_s)
    adapted = _of_adapters(model, candidates)
    return replace(adapted, work_s=adapted.work_s + encoded, wait_s=adapted.wait_s + decoded_s)


def _of_adapters(model: Model, candidates: Candidates) -> Extras:
    """What adapters take.

    A request whose adapter is not resident loads it while the engine waits: work = (1 - hits) x bytes / bandwidth.
    Where more than one in a hundred does, every first token is taken to wait for the whole load, as high percentiles
    do. Source: vLLM 0.33.0, v1/worker/lora_model_runner_mixin.py (adapters are set before the forward pass of a step).
    """
    adapters = candidates.rows[0].adapters
    load_s = adapter_bytes(model, adapters.rank, adapters.targets) / adapters.load_bytes_per_s
    missed = 1.0 - adapters.hit_share
    each = np.ones(len(candidates))
    return Extras(
        slower=candidates.column(lambda row: adapter_support(row.engine, model, row.adapters.targets).slower),
        work_s=each * missed * load_s,
        wait_s=each * ((1.0 - missed) * load_s if missed >= RARELY else 0.0),
    )


def with_extras(times: StepTimes, model: Model, candidates: Candidates, traffic: Traffic) -> StepTimes:
    """Step times with what requests take beside their tokens, see :class:`Extras`."""
    extras = extras_of(model, candidates, traffic)
    if extras is None:
        return times
    slower = extras.slower
    return replace(
        times,
        decode_s=times.decode_s * slower[:, None],
        prefill_s=times.prefill_s * slower + extras.work_s,
        prefill_work_s=times.prefill_work_s * slower + extras.work_s,
        prompt_step_s=times.prompt_step_s * slower[:, None],
        stall_s=times.stall_s * slower,
        front_s=times.front_s + extras.wait_s,
    )
