"""The hand-written part of the accuracy report: its text (``accuracy_notes.md``), and why rows are far off."""

from __future__ import annotations

from pathlib import Path

TEXT = Path(__file__).with_name("accuracy_notes.md")
TABLES = "<!-- tables -->"


def notes(**facts: object) -> tuple[str, str]:
    """The text before and after the tables; ``{name}`` stands for a fact."""
    before, after = TEXT.read_text(encoding="utf-8").split(TABLES)
    for name, value in facts.items():
        before = before.replace(f"{{{name}}}", str(value))
    return before.strip(), after.strip()


_REASONS = (
    (
        ("aic_silicon_inferencex", "gpt-oss", "h100", ""),
        "TTFT of 20 to 460 s beside a short ITL: the server ran far fewer sequences than were sent",
    ),
    (("dstack_r1", "", "", ""), "early-2025 DeepSeek support, 2 to 4 times slower than later software"),
    (("dstack_405b", "", "", ""), "untuned ROCm or overloaded run; the source's two scripts disagree"),
    (("aic_silicon_nvidia", "deepseek", "", ""), "attention-DP run whose arrival pattern is not published"),
    (("aic_silicon_nvidia", "Qwen3-32B", "b200", ""), "480 GPUs' worth of concurrency on 2 GPUs: probably replicas"),
    (("vultr", "", "", ""), "at most 50 prompts were sent: the stated concurrency was never reached"),
    (("argonne", "", "gh200", ""), "spread between neighbouring rows of the source"),
    (("argonne", "", "a100_sxm_40g", ""), "KV cache at the edge of 40 GB cards: waves of the batch decide"),
    (("argonne", "", "mi300x", ""), "untuned 2024 ROCm, large spread between neighbouring rows"),
    (("argonne", "", "", ""), "untuned 2024 software; neighbouring rows disagree"),
    (("trtllm_docs_static", "", "", ""), "2023 static batching without in-flight batching"),
    (("trtllm_docs_ifb", "", "gh200", ""), "the weights fill the GPU; the docs ran with a KV share of 0.95"),
    (("trtllm_docs_ifb", "", "", ""), "capacity or tuning of the published maximum differs from the defaults"),
    (("mlperf", "", "gh200", ""), "the 144 GB version was measured, the name says 96 GB"),
    (("mlperf", "", "", ""), "format and layout are not stated"),
    (("inferencemax", "", "", ""), "model-specific kernels, or memory pressure at long context"),
)


def reason(source: str, model: str, gpu: str, mode: str) -> str:
    """The likely reason of a large error, by source, model, GPU and mode; the first rule that fits."""
    asked = (source, model, gpu, mode)
    for patterns, text in _REASONS:
        if all(p.lower() in value.lower() for p, value in zip(patterns, asked, strict=True)):
            return text
    return "not understood"
