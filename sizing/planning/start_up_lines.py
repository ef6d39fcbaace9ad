"""The lines of its log with which an engine checks a plan at its first start, in the words of that engine."""

from sizing.base.deployed import Deployed, PerInstance, Pool
from sizing.base.format import significant
from sizing.base.result import Plan
from sizing.base.units import GB, GIB, THOUSAND
from sizing.catalog.engines import engines


def start_up_lines(plan: Plan) -> tuple[str, ...]:
    """What the first rank of an instance is expected to print; nothing where nothing is deployed.

    Sizes are GiB of one GPU. Sources: vLLM 0.33.0, v1/worker/gpu_worker.py and v1/core/kv_cache_utils.py; SGLang
    0.5.23, model_executor and mem_cache; TensorRT-LLM docs, memory usage.
    """
    one, deployed = plan.per_instance, plan.deployment
    return _lines(one, deployed, deployed.engine) if one and deployed and one.kv_tokens else ()


def _lines(one: PerInstance, deployed: Deployed | Pool, engine: str) -> tuple[str, ...]:
    gpus = deployed.tp * deployed.pp * deployed.dp
    weights, kv = (significant(size / gpus * GB / GIB) for size in (one.weights_gb, one.kv_gb))
    tokens = one.kv_tokens
    size = f"{round(tokens, -3):,}" if tokens >= THOUSAND else f"{tokens:,}"
    contexts = significant(tokens / max(one.context, 1))
    known = engines()[engine]
    match known.memory.engine:
        case "vllm":
            return (
                f"Model loading took {weights} GiB memory",
                f"Available KV cache memory: {kv} GiB",
                f"GPU KV cache size: {size} tokens",
                f"Maximum concurrency for {one.context:,} tokens per request: {contexts}x",
            )
        case "sglang":
            return (f"Load weight end. mem usage={weights} GB", f"KV Cache is allocated. #tokens: {tokens:d}")
        case "trtllm":
            return (f"Allocated {kv} GiB for max tokens in paged KV cache ({tokens:d})",)
        case _:
            return (f"Weights {weights} GiB, KV cache {kv} GiB, {size} tokens",)
