"""The arguments of servers on processors: llama.cpp's llama-server and OpenVINO Model Server."""

from collections.abc import Mapping

from sharing.manifests.facts import InstanceGroup, ManifestFacts
from sharing.manifests.pods import CACHE

ENGINES = ("llamacpp", "openvino")
"""Engines of processors whose server a file here starts."""

PROGRAMS: Mapping[str, str] = {"llamacpp": "/app/llama-server", "openvino": "/ovms/bin/ovms"}
"""Where their images have the server (ggml-org/llama.cpp, .devops/cpu.Dockerfile; openvinotoolkit/model_server,
Dockerfile.ubuntu)."""

HEALTH: Mapping[str, tuple[str, str]] = {"openvino": ("/v2/health/ready", "/v2/health/live")}
"""Where OpenVINO Model Server says that it is ready and alive (KServe API v2); llama-server has ``/health``."""

ENVIRONMENT: Mapping[str, Mapping[str, str]] = {"llamacpp": {"LLAMA_CACHE": CACHE}, "openvino": {}}
"""Where llama-server keeps what it downloads."""

Option = str | int | bool


def llamacpp(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Option]:
    """Options of llama-server (ggml-org/llama.cpp@00dc805, tools/server/README.md). Its slots share one KV cache, so
    that a long request may use what others leave."""
    each = facts.plan.per_instance
    slots = group.max_sequences * facts.context
    held = each.kv_tokens if each is not None and each.kv_tokens else slots
    options: dict[str, Option] = {
        "--hf-repo": facts.checkpoint.name,
        "--alias": facts.checkpoint.served_as,
        "--parallel": group.max_sequences,
        "--kv-unified": True,
        "--ctx-size": min(slots, held),
        "--ubatch-size": group.token_budget,
        "--metrics": True,
    }
    if facts.narrow_kv:
        options |= {"--cache-type-k": "q8_0", "--cache-type-v": "q8_0", "--flash-attn": "on"}
    return options


def openvino(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Option]:
    """Options of OpenVINO Model Server (openvinotoolkit/model_server, tag v2025.4, docs/parameters.md and
    src/graph_export/graph_cli_parser.cpp; the same at 7e4df0c of 2026-08-21)."""
    each = facts.plan.per_instance
    options: dict[str, Option] = {
        "--source_model": facts.checkpoint.name,
        "--model_repository_path": CACHE,
        "--model_name": facts.checkpoint.served_as,
        "--task": "text_generation",
        "--target_device": "CPU",
        "--metrics_enable": True,
        "--max_num_seqs": group.max_sequences,
        "--max_num_batched_tokens": group.token_budget,
        "--enable_prefix_caching": "true" if facts.prefix_caching else "false",
    }
    if each is not None and each.kv_gb >= 1.0:
        options["--cache_size"] = int(each.kv_gb)
    if facts.narrow_kv:
        options["--kv_cache_precision"] = "u8"
    return options


def options(facts: ManifestFacts, group: InstanceGroup, port: int) -> dict[str, Option]:
    """The options of the planned server, and where it listens."""
    if facts.engine.id == "llamacpp":
        return {**llamacpp(facts, group), "--host": "0.0.0.0", "--port": port}
    return {**openvino(facts, group), "--rest_bind_address": "0.0.0.0", "--rest_port": port}
