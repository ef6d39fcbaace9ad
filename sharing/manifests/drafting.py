"""Speculative decoding as each engine is told of it: prediction heads of the checkpoint, or a draft of its own."""

from typing import Any

from sharing.manifests.checkpoint import FILL_IN
from sizing.base.deployed import Drafts

DRAFT_MODEL = f"{FILL_IN}/draft-model"
"""Stands for a draft whose checkpoint nobody named."""

OWN_HEADS = ("mtp",)
"""Methods whose heads are in the checkpoint of the model itself."""


SGLANG_ALGORITHMS = {"mtp": "EAGLE", "eagle3": "EAGLE3", "dspark": "DSPARK", "": "STANDALONE"}
TRTLLM_DECODING = {"eagle3": "Eagle3", "": "Draft_Target"}
"""What engines call methods; "" is a draft model of its own (SGLang 0.5.23, srt/speculative/spec_info.py; TensorRT-LLM,
llmapi/llm_args.py)."""


def draft_model(drafts: Drafts) -> str:
    """The checkpoint of the draft; "" where the heads are in that of the model."""
    return "" if drafts.method in OWN_HEADS else drafts.checkpoint or DRAFT_MODEL


def to_fill_in(drafts: Drafts | None) -> bool:
    """Whether somebody must name the checkpoint of a draft."""
    return drafts is not None and draft_model(drafts) == DRAFT_MODEL


def vllm(drafts: Drafts) -> dict[str, str | int]:
    """``--speculative-config`` (vLLM docs, speculative decoding: methods mtp, eagle3, dspark, draft_model)."""
    model: dict[str, str | int] = {"model": path} if (path := draft_model(drafts)) else {}
    return {"method": drafts.method or "draft_model", **model, "num_speculative_tokens": drafts.draft_tokens}


def sglang(drafts: Drafts) -> dict[str, str | int | float | bool]:
    """Server arguments (SGLang docs, speculative decoding): EAGLE without a draft path takes the heads of the model."""
    path = draft_model(drafts)
    return {
        "--speculative-algorithm": SGLANG_ALGORITHMS[drafts.method],
        **({"--speculative-draft-model-path": path} if path else {}),
        "--speculative-num-steps": drafts.draft_tokens,
        "--speculative-eagle-topk": 1,
        "--speculative-num-draft-tokens": drafts.draft_tokens + 1,
    }


def trtllm(drafts: Drafts) -> dict[str, Any]:
    """``speculative_config`` (TensorRT-LLM docs, features/speculative-decoding): MTP, or a draft of its own."""
    path = draft_model(drafts)
    if not path:
        return {"decoding_type": "MTP", "num_nextn_predict_layers": drafts.draft_tokens}
    kind = TRTLLM_DECODING[drafts.method]
    return {"decoding_type": kind, "max_draft_len": drafts.draft_tokens, "speculative_model": path}
