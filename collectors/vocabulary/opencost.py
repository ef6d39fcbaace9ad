"""What OpenCost says about the cost of a served model: its gauges and their labels.

From the documentation of OpenCost 1.121 (opencost/opencost, docs/inference-cost-tracking.md) and of llm-d
(llm-d.ai/docs, Track Inference Cost), read 2026-11-22; not seen on a running OpenCost.
"""

HOURLY = "llm_total_hourly_cost"
"""USD per hour now, by ``cost_basis``."""

PER_MILLION_TOKENS = "llm_cost_per_million_tokens"
"""USD, by ``cost_basis`` and ``phase``: empty for prompt and answer together, prompt, generation."""

CACHE_SAVINGS = "llm_cache_savings_fraction"
"""Share of the prompt tokens that came from the KV cache."""

NAMES = (HOURLY, PER_MILLION_TOKENS, CACHE_SAVINGS)

MODEL, VERSION, WORKLOAD, BASIS, PHASE = "model_name", "model_version", "workload_type", "cost_basis", "phase"
NAMESPACES = ("exported_namespace", "namespace")
"""Where the namespace of the model stands: Prometheus moves it aside where the target has one of its own."""
