"""Where the evidence library comes from: the name of each source, its licence, and a link to the very file."""

import re
from dataclasses import dataclass

_TIME_OF_DAY = re.compile(r"(?<=\d)T\d\d:\d\d:[\d.]+Z$")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+(?= )")


@dataclass(frozen=True, kw_only=True)
class EvidenceSource:
    """One publisher of measurements; full attributions stand in NOTICE."""

    label: str
    licence: str


_INFERENCEX = EvidenceSource(label="InferenceX (SemiAnalysis)", licence="Apache-2.0")
_DSTACK = EvidenceSource(label="dstack benchmarks", licence="Apache-2.0")
_TRTLLM = EvidenceSource(label="TensorRT-LLM documentation (NVIDIA)", licence="Apache-2.0")

SOURCES: dict[str, EvidenceSource] = {
    "aic_silicon_inferencex": _INFERENCEX,
    "aic_silicon_nvidia": EvidenceSource(label="aiconfigurator silicon samples (NVIDIA)", licence="Apache-2.0"),
    "argonne_llm_inference_bench": EvidenceSource(label="LLM-Inference-Bench (Argonne)", licence="BSD-3-Clause"),
    "aibrix_multiround_8gpu": EvidenceSource(label="AIBrix regression tests (vllm-project)", licence="Apache-2.0"),
    "do_gtc_h200": EvidenceSource(label="DigitalOcean GTC 2026 benchmarks", licence="MIT"),
    "dstack_405b": _DSTACK,
    "dstack_pd_ratio": _DSTACK,
    "dstack_r1": _DSTACK,
    "gpustack_perf_lab": EvidenceSource(label="GPUStack performance lab", licence="Apache-2.0"),
    "inference_perf_kubecon": EvidenceSource(label="inference-perf (Kubernetes SIGs)", licence="Apache-2.0"),
    "inferencemax": _INFERENCEX,
    "inferencex_snapshot": _INFERENCEX,
    "kaito_phi4mini": EvidenceSource(label="KAITO benchmarks", licence="MIT"),
    "llmd_kvcache_37": EvidenceSource(label="llm-d KV-cache manager benchmarks", licence="Apache-2.0"),
    "llmservingsim_bench": EvidenceSource(label="LLMServingSim (KAIST)", licence="MIT"),
    "mlperf_v4.1": EvidenceSource(label="MLPerf Inference v4.1 (MLCommons)", licence="Apache-2.0"),
    "mlperf_v5.0": EvidenceSource(label="MLPerf Inference v5.0 (MLCommons)", licence="Apache-2.0"),
    "mooncake_docs": EvidenceSource(label="Mooncake documentation (kvcache-ai)", licence="Apache-2.0"),
    "psap_glm_playbook": EvidenceSource(label="Inference playbooks (OpenShift PSAP)", licence="MIT"),
    "sgl_cookbook": EvidenceSource(label="SGLang cookbook (sgl-project)", licence="Apache-2.0"),
    "sglang_v030_readme": EvidenceSource(label="SGLang repository (sgl-project)", licence="Apache-2.0"),
    "splitwise_perf": EvidenceSource(label="Splitwise simulator (Microsoft)", licence="MIT"),
    "tpu_recipes_v6e": EvidenceSource(label="TPU recipes (AI-Hypercomputer)", licence="Apache-2.0"),
    "trtllm_docs_ifb": _TRTLLM,
    "trtllm_docs_static": _TRTLLM,
    "vllm_blog_fp8kv": EvidenceSource(label="vLLM blog (vllm-project)", licence="Apache-2.0"),
    "vultr_b200_cookbook": EvidenceSource(label="Vultr documentation", licence="facts cited"),
}
"""Every source of the library by its id in the rows."""


def source_day(date: str) -> str:
    """The day of a source, its time of day left out: "2025-10-29T00:00:00.000Z" is "2025-10-29"."""
    return _TIME_OF_DAY.sub("", date)


def source_url(place: str) -> str | None:
    """Address of a source from ``source_url_or_repo_path``: its own, or that of the repository it starts with."""
    first = place.split(" ")[0]
    if first.startswith("https://"):
        return first
    repository = _REPOSITORY.match(place)
    return f"https://github.com/{repository.group()}" if repository else None
