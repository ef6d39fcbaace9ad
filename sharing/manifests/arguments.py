"""The arguments of each engine: what the plan assumed, said in the engine's own words."""

import json
from collections.abc import Mapping
from typing import Any

from sharing.manifests import drafting, processors
from sharing.manifests.checkpoint import WIDE
from sharing.manifests.facts import InstanceGroup, ManifestFacts
from sizing.catalog.adapters import slot_rank

Option = str | int | float | bool | tuple[str, ...]
Options = Mapping[str, Option]
"""Options by name; True is a flag without a value, several values stand one after the other."""

SETTINGS = "/etc/trtllm/settings.yaml"
"""Where trtllm-serve finds what it takes from a file alone."""


ATTENTION = ("qkv_proj", "o_proj")
"""Modules of attention as vLLM and SGLang name them for ``--lora-target-modules``. Without them vLLM has slots for all
layers; without paths SGLang has to be told rank and targets (docs, LoRA serving)."""

TRTLLM_TARGETS = {
    "all": ("attn_q", "attn_k", "attn_v", "attn_dense", "mlp_h_to_4h", "mlp_4h_to_h", "mlp_gate"),
    "attention": ("attn_q", "attn_k", "attn_v", "attn_dense"),
}
"""Modules as TensorRT-LLM's LoraConfig names them (docs, features/lora)."""


def flattened(options: Options) -> list[str]:
    """Options as a command line has them."""
    out = []
    for name, value in options.items():
        if isinstance(value, tuple):
            out += [name, *value]
            continue
        out += [name] if value is True else [name, f"{value:g}" if isinstance(value, float) else str(value)]
    return out


def compact(value: Any) -> str:
    """JSON in one line, as an argument."""
    return json.dumps(value, separators=(",", ":"))


def weights(facts: ManifestFacts) -> dict[str, str]:
    """The format of the weights, where the checkpoint does not decide it."""
    if facts.checkpoint.at_load:
        return {"--quantization": facts.checkpoint.at_load}
    wide = WIDE.get(facts.deployment.weight_precision)
    return {"--dtype": wide} if wide else {}


def vllm(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Option]:
    """vLLM's engine arguments (docs, engine arguments; checked with vLLM 0.33.0)."""
    options: dict[str, Option] = {
        "--served-model-name": facts.checkpoint.served_as,
        "--tensor-parallel-size": group.tp,
        "--pipeline-parallel-size": group.pp,
        "--max-num-seqs": group.max_sequences,
        "--max-num-batched-tokens": group.token_budget,
        "--max-model-len": facts.context,
        "--gpu-memory-utilization": facts.memory_fraction(group),
        "--kv-cache-dtype": "fp8" if facts.narrow_kv else "auto",
        "--enable-prefix-caching" if facts.prefix_caching else "--no-enable-prefix-caching": True,
    }
    if group.dp > 1:
        options["--data-parallel-size"] = group.dp
    if group.ep > 1:
        options["--enable-expert-parallel"] = True
    options |= weights(facts)
    if adapters := facts.deployment.adapters:
        options |= {
            "--enable-lora": True,
            "--max-loras": adapters.resident,
            "--max-lora-rank": slot_rank(facts.engine, adapters.rank),
            "--max-cpu-loras": adapters.number,
            **({"--lora-target-modules": ATTENTION} if adapters.targets == "attention" else {}),
        }
    if facts.speculation:
        options["--speculative-config"] = compact(drafting.vllm(facts.speculation))
    return options


def sglang(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Option]:
    """SGLang's server arguments. With attention data parallelism its sizes are those of the whole instance."""
    options: dict[str, Option] = {
        "--served-model-name": facts.checkpoint.served_as,
        "--tp-size": group.tp * group.dp,
        "--pp-size": group.pp,
        "--max-running-requests": group.max_sequences * group.dp,
        "--chunked-prefill-size": group.token_budget * group.dp,
        "--context-length": facts.context,
        "--mem-fraction-static": facts.memory_fraction(group),
        "--kv-cache-dtype": "fp8_e4m3" if facts.narrow_kv else "auto",
        "--enable-metrics": True,
    }
    if not facts.prefix_caching:
        options["--disable-radix-cache"] = True
    if group.dp > 1:
        options["--attn-dp-size"] = group.dp
    if group.ep > 1:
        options["--ep-size"] = group.ep
    options |= weights(facts)
    if adapters := facts.deployment.adapters:
        options |= {
            "--enable-lora": True,
            "--max-loras-per-batch": adapters.resident,
            "--max-lora-rank": adapters.rank,
            "--max-loaded-loras": adapters.number,
            "--lora-target-modules": ATTENTION if adapters.targets == "attention" else "all",
        }
    if facts.speculation:
        options |= drafting.sglang(facts.speculation)
    return options


def trtllm(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Any]:
    """TensorRT-LLM's LLM API arguments (docs, llmapi.LLM), as model.yaml and the engine's own files have them."""
    options: dict[str, Any] = {
        "backend": "pytorch",
        "tensor_parallel_size": group.tp * group.dp,
        "pipeline_parallel_size": group.pp,
        "max_batch_size": group.max_sequences,
        "max_num_tokens": group.token_budget,
        "max_seq_len": facts.context,
        **trtllm_rest(facts, group),
    }
    return options


def trtllm_rest(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Any]:
    """What TensorRT-LLM takes from a file alone, whatever starts it."""
    options: dict[str, Any] = {
        "kv_cache_config": {
            "dtype": "fp8" if facts.narrow_kv else "auto",
            "free_gpu_memory_fraction": facts.memory_fraction(group),
            "enable_block_reuse": facts.prefix_caching,
        },
        "enable_chunked_prefill": True,
        "return_perf_metrics": True,
        "enable_iter_perf_stats": True,
    }
    if group.ep > 1:
        options["moe_expert_parallel_size"] = group.ep
    if group.dp > 1:
        options["enable_attention_dp"] = True
    if adapters := facts.deployment.adapters:
        options["lora_config"] = {
            "max_lora_rank": adapters.rank,
            "max_loras": adapters.resident,
            "max_cpu_loras": adapters.number,
            "lora_target_modules": list(TRTLLM_TARGETS[adapters.targets]),
        }
    if facts.speculation:
        options["speculative_config"] = drafting.trtllm(facts.speculation)
    return options


def trtllm_serve(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Option]:
    """The options of trtllm-serve; the rest is in the file that the last one names."""
    return {
        "--tp_size": group.tp * group.dp,
        "--pp_size": group.pp,
        "--max_batch_size": group.max_sequences,
        "--max_num_tokens": group.token_budget,
        "--max_seq_len": facts.context,
        "--extra_llm_api_options": SETTINGS,
    }


def serving_command(facts: ManifestFacts, group: InstanceGroup, port: int) -> list[str]:
    """The command of a server with an OpenAI-compatible interface."""
    address: Options = {"--host": "0.0.0.0", "--port": port}
    if facts.engine.id == "vllm":
        return ["vllm", "serve", facts.checkpoint.name, *flattened({**vllm(facts, group), **address})]
    if facts.engine.id == "trtllm":
        return ["trtllm-serve", facts.checkpoint.name, *flattened({**trtllm_serve(facts, group), **address})]
    if facts.engine.id in processors.ENGINES:
        return [processors.PROGRAMS[facts.engine.id], *flattened(processors.options(facts, group, port))]
    options = {"--model-path": facts.checkpoint.name, **sglang(facts, group), **address}
    return ["python3", "-m", "sglang.launch_server", *flattened(options)]


def over_nodes(facts: ManifestFacts, group: InstanceGroup, leader: str, rank: str) -> list[str]:
    """What joins the nodes of an instance, with the names of the variables that hold the leader and the rank."""
    if facts.engine.id == "vllm":
        joined: Options = {
            "--distributed-executor-backend": "mp",
            "--nnodes": group.nodes,
            "--node-rank": f"$({rank})",
            "--master-addr": f"$({leader})",
        }
    else:
        joined = {"--nnodes": group.nodes, "--node-rank": f"$({rank})", "--dist-init-addr": f"$({leader}):20000"}
    return flattened(joined)
