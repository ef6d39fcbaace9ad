"""The fields of the form: one entry per widget, whose key is also the name of its parameter in a link.

``path`` is the scenario key that a field sets; ``scale`` turns what is typed into what the scenario holds (percent
into a fraction). Fields without a path take part in a value that several of them make up (see :mod:`ui.form.read`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "text", "choice", "many", "switch"]


@dataclass(frozen=True, kw_only=True)
class Field:
    """One input. ``blank`` is its value when the scenario says nothing; ``private`` keeps it out of links.

    ``longest``: characters that a text may have.
    """

    key: str
    kind: Kind
    label: str
    help: str
    unit: str = ""
    path: str = ""
    scale: float = 1.0
    example: str = ""
    private: bool = False
    short: str = ""
    longest: int = 120

    @property
    def title(self) -> str:
        """The label with its unit, as it stands above the widget."""
        name = self.short or self.label
        return f"{name} ({self.unit})" if self.unit else name

    @property
    def blank(self) -> str | bool | list[str]:
        """What the widget holds when it says nothing."""
        empty: dict[Kind, str | bool | list[str]] = {"switch": False, "many": []}
        return empty.get(self.kind, "")


def _number(key: str, label: str, unit: str, example: str, help: str, path: str = "", **more: object) -> Field:
    return Field(key=key, kind="number", label=label, unit=unit, example=example, help=help, path=path, **more)  # type: ignore[arg-type]


def _choice(key: str, label: str, help: str, path: str = "", **more: object) -> Field:
    return Field(key=key, kind="choice", label=label, help=help, path=path, **more)  # type: ignore[arg-type]


def _many(key: str, label: str, help: str, path: str) -> Field:
    return Field(key=key, kind="many", label=label, help=f"{help} Empty: all are considered.", path=path)


def _switch(key: str, label: str, help: str) -> Field:
    return Field(key=key, kind="switch", label=label, help=help)


_MODEL = (
    Field(
        key="name",
        kind="text",
        label="Scenario name",
        path="name",
        help="Shown at the top of the page and in every download.",
    ),
    _choice(
        "model_by",
        "Model from",
        "Catalogue: published models. Size: only the number of parameters is known. "
        "config.json: any Hugging Face model.",
    ),
    _choice("model", "Model", "Type to search the catalogue, or type any Hugging Face id or common name.", "model"),
    Field(
        key="size_name", kind="text", label="Model name", path="model.name", help="Any name.", example="NeMo 43B GPT"
    ),
    _number(
        "size_b",
        "Parameters",
        "billions",
        "43",
        "Layers, heads and KV cache are then assumed from models of that "
        "size; the assumptions are listed with the answer.",
        "model.params_b",
        short="Size",
    ),
)

_WORKLOAD = (
    _number(
        "isl",
        "Prompt length",
        "",
        "3500",
        "Everything the model reads for one request: system prompt, retrieved documents, chat history and question.",
        "workload.input_tokens",
        short="Prompt",
    ),
    _number(
        "osl",
        "Output length",
        "",
        "500",
        "Mean length of one answer. Reasoning models: count the hidden reasoning too.",
        "workload.output_tokens",
        short="Output",
    ),
    _choice("unit", "Lengths in", "Words, characters and pages are converted with the ratio of the language."),
    _choice("lang", "Language", "Tokens per word differ between languages; the ratio can be changed beside."),
    _number(
        "ratio",
        "Words per token",
        "words/token",
        "0.75",
        "Overrides the ratio of the language. Empty: the ratio of the language.",
    ),
    _number(
        "isl95",
        "95th percentile of the prompt",
        "tokens",
        "9000",
        "Empty: every prompt has the same length. Filled: the prompt above is read as the median.",
        "workload.input_tokens.p95",
    ),
    _number(
        "osl95",
        "95th percentile of the output",
        "tokens",
        "1500",
        "Empty: every answer has the same length. Filled: the output above is read as the median.",
        "workload.output_tokens.p95",
    ),
    _switch(
        "compose",
        "Build the prompt from its parts",
        "System prompt + retrieved documents + chat history + question, instead of one length.",
    ),
    _number("system", "System prompt", "", "300", "Instructions sent with every request."),
    _number("docs", "Retrieved documents", "documents", "5", "Passages that retrieval adds to one request; 0 without."),
    _number("doc", "Length of a document", "", "600", "Mean length of one retrieved passage."),
    _number(
        "turns",
        "Earlier turns sent again",
        "turns",
        "4",
        "Chat history: each turn is one question and one answer of the lengths given here; 0 without.",
    ),
    _number("question", "Question", "", "50", "What the user types."),
    _choice(
        "load",
        "Load from",
        "Peak requests/s are sized for directly; an average is raised to a Poisson "
        "percentile; daily users are spread over the working day.",
    ),
    _number(
        "rps",
        "Peak load",
        "requests/s",
        "31",
        "Requests that arrive per second at the busiest time.",
        "workload.peak_rps",
    ),
    _number(
        "avg",
        "Average load",
        "requests/s",
        "25",
        "Mean requests per second; arrivals are taken as Poisson.",
        "workload.average_rps",
    ),
    _number(
        "avg_pct",
        "Peak percentile",
        "%",
        "95",
        "The peak that is sized for: this percentile of the requests in one second.",
        "workload.peak_percentile",
    ),
    _number(
        "users", "Daily users", "people", "50000", "People who use it on a working day.", "workload.users.daily_users"
    ),
    _number(
        "per_user",
        "Requests per user",
        "a day",
        "3",
        "Mean requests of one user a day.",
        "workload.users.requests_per_user",
        short="Requests each",
    ),
    _number("hours", "Working day", "h", "8", "Hours over which the requests arrive.", "workload.users.hours"),
    _number(
        "p2m",
        "Peak to mean",
        "ratio",
        "2",
        "How much busier the busiest time is than the mean.",
        "workload.users.peak_to_mean",
        short="Peak/mean",
    ),
    _number("growth", "Growth", "%", "20", "Extra demand the plan keeps room for.", "workload.growth_percent"),
    _choice(
        "mode",
        "Answers are",
        "Streamed: TTFT and ITL count. Whole: the reader waits for the last token, so E2E "
        "counts. Offline: no latency limit, maximum throughput.",
        "workload.mode",
    ),
    _number(
        "cv",
        "Burstiness of arrivals",
        "CV of the gaps",
        "2",
        "1 or empty: Poisson. Above 1: requests come in bursts.",
        "workload.arrivals.gamma.cv",
    ),
    Field(
        key="profile",
        kind="text",
        label="Load by hour",
        path="workload.arrivals.profile",
        longest=400,
        example="1 1 1 1 1 2 4 7 9 10 10 9 8 9 10 9 8 6 5 4 3 2 1 1",
        help="24 values from midnight on, in any unit; the busiest hour is the peak. Filled, an average is one over "
        "the day, and the hours take the place of working day and peak to mean. Empty: the day is not known.",
    ),
)

_LIMITS = (
    _number(
        "ttft",
        "TTFT limit",
        "ms",
        "2000",
        "Time to first token at the percentile below. Empty: no limit.",
        "limits.ttft_ms",
    ),
    _number(
        "itl",
        "ITL limit",
        "ms",
        "100",
        "Inter-token latency at the percentile below; fast reading is 90 ms, "
        "average reading 200 ms per token. Empty: no limit.",
        "limits.itl_ms",
    ),
    _number(
        "e2e",
        "E2E limit",
        "ms",
        "20000",
        "Time to last token at the percentile below. Empty: no limit.",
        "limits.e2e_ms",
    ),
    _number(
        "pct",
        "Percentile of the limits",
        "%",
        "95",
        "95: at most one request in 20 may exceed a limit.",
        "limits.percentile",
    ),
)

_HARDWARE = (
    _many("gpu", "GPUs considered", "Accelerators the customer would buy or rent.", "deployment.gpus"),
    Field(
        key="proven",
        kind="switch",
        label="Only GPU types with published benchmarks",
        path="deployment.measured_gpus_only",
        help="Off: every type of the catalogue is considered, also those that nobody has published measurements of.",
    ),
    _many("engine", "Engines", "Serving engines.", "deployment.engines"),
    _many("prec", "Weight precision", "Number formats of the weights.", "deployment.precisions"),
    _many("kv", "KV-cache precision", "Number formats of the KV cache.", "deployment.kv_precisions"),
    _many("tp", "TP", "Tensor parallelism: GPUs that share every layer.", "deployment.tp"),
    _many("pp", "PP", "Pipeline parallelism: groups of layers on different GPUs.", "deployment.pp"),
    _many("ep", "EP", "Expert parallelism: GPUs over which experts are spread.", "deployment.ep"),
    _many(
        "serving",
        "Serving",
        "Aggregated: every instance computes prompts and answers. Disaggregated: prefill and "
        "decode instances of their own, the KV cache sent between them.",
        "deployment.serving",
    ),
    Field(
        key="batch",
        kind="text",
        label="Batch limits",
        path="deployment.batch_limits",
        example="32, 64",
        help="Requests that one instance may have in flight (vLLM --max-num-seqs, SGLang --max-running-requests, "
        "TensorRT-LLM max_batch_size), several separated by commas: the best of them is used. Empty: limited only "
        "where that saves an instance.",
    ),
    _choice(
        "where",
        "Where",
        "On-premises is priced per system bought, cloud per hour, hybrid as on-premises, "
        "because cloud bursts are not priced yet.",
        "deployment.location",
    ),
    _switch("own", "Add an accelerator of your own", "Sized from its datasheet like every other."),
    Field(
        key="own_name",
        kind="text",
        label="Accelerator name",
        help="Any name; it appears in the answer.",
        example="NextGen 200",
    ),
    _number(
        "own_mem",
        "Memory of the accelerator",
        "GB",
        "192",
        "From the datasheet.",
        "deployment.custom_gpus.memory_gb",
        short="Memory",
    ),
    _number(
        "own_bw",
        "Memory bandwidth of the accelerator",
        "GB/s",
        "8000",
        "From the datasheet.",
        "deployment.custom_gpus.bandwidth_gbs",
        short="Bandwidth",
    ),
    _number(
        "own_fp16",
        "FP16 rate of the accelerator",
        "TFLOPS",
        "2250",
        "Dense, never with sparsity.",
        "deployment.custom_gpus.fp16_tflops",
        short="FP16",
    ),
    _number(
        "own_fp8",
        "FP8 rate of the accelerator",
        "TFLOPS",
        "4500",
        "Dense. Empty: no FP8.",
        "deployment.custom_gpus.fp8_tflops",
        short="FP8",
    ),
    _number(
        "own_link",
        "Link of the accelerator",
        "GB/s",
        "1800",
        "GPU-to-GPU link such as NVLink, both directions together. Empty: PCIe.",
        "deployment.custom_gpus.link_gbs",
        short="Link",
    ),
    _number(
        "own_domain",
        "Accelerators linked together",
        "count",
        "8",
        "Accelerators in one server or rack that share the link. Empty: 8.",
        "deployment.custom_gpus.domain_gpus",
        short="Linked",
    ),
    _number(
        "own_watts",
        "Power of the accelerator",
        "W",
        "1000",
        "TDP of one: power of the deployment, and "
        "the matrix rate that is sustained. Empty: power unknown, rate like an H100.",
        "deployment.custom_gpus.tdp_watts",
        short="Power",
    ),
    _number(
        "own_usd",
        "Price of the accelerator",
        "USD",
        "40000",
        "Without the server around it.",
        "deployment.custom_gpus.price_usd",
        private=True,
        short="Price",
    ),
)

_ASSUMPTIONS = (
    _number(
        "util",
        "Utilisation cap",
        "%",
        "100",
        "Share of an instance's capacity that may be used at the peak.",
        "deployment.max_utilization",
        scale=0.01,
    ),
    _number(
        "cached",
        "Prompt found in the prefix cache",
        "tokens or %",
        "60%",
        "Part of the prompt that is shared "
        "between requests and not prefilled again: tokens, or a share of the prompt such as 60%.",
        "workload.prefix_cached_tokens",
    ),
    _number(
        "spare",
        "Spare instances",
        "instances",
        "1",
        "Instances beyond the peak, for failures and maintenance (N+k).",
        "deployment.spare_instances",
    ),
    _choice("obj", "Rank by", "What the best deployment is.", "deployment.objective"),
    _choice(
        "steps",
        "Step times from",
        "Roofline: our formula for every GPU. Kernel tables: NVIDIA's measured "
        "kernels together with the roofline, where there are any.",
        "deployment.step_times",
    ),
    _choice(
        "route",
        "Routing",
        "How the front end spreads requests over the instances. The plan is simulated "
        "with what is chosen; estimates take random routing. Weighted is in turn, because the instances are equal; "
        "prefix-aware is least loaded, because the shared part of the prompts counts as cached on every one.",
        "deployment.routing",
    ),
    _switch(
        "spec",
        "Speculative decoding",
        "A small model guesses several tokens, one step of the large one checks "
        "them all (Leviathan et al., ICML 2023).",
    ),
    _number(
        "draft",
        "Draft tokens",
        "a step",
        "3",
        "Tokens guessed per step.",
        "deployment.speculative_decoding.draft_tokens",
    ),
    _number(
        "accept",
        "Acceptance",
        "%",
        "70",
        "How often a guessed token is right. It depends on the draft model and on the text: measure it on your own.",
        "deployment.speculative_decoding.acceptance",
        scale=0.01,
    ),
    _number(
        "draft_cost",
        "Cost of a draft token",
        "% of a step",
        "5",
        "Time of one guess relative to a decode step of "
        "the model. Below 5 % for a draft model about a hundred times smaller (Leviathan et al., ICML 2023).",
        "deployment.speculative_decoding.draft_cost",
        scale=0.01,
        short="Draft cost",
    ),
    _switch("meas", "Use a measured record", "A benchmark of one system replaces the prediction."),
    _choice("m_sys", "Measured system", "System the benchmark ran on.", "measured.system"),
    _number(
        "m_rps",
        "Measured requests/s",
        "per system",
        "2.4",
        "Requests per second of one system within the limits.",
        "measured.rps_per_system",
    ),
    _number("m_ttft", "Measured TTFT", "ms", "2606", "At that rate. Empty: unknown.", "measured.ttft_ms", short="TTFT"),
    _number("m_itl", "Measured ITL", "ms", "21.4", "At that rate. Empty: unknown.", "measured.itl_ms", short="ITL"),
    Field(
        key="m_source",
        kind="text",
        label="Where the record comes from",
        path="measured.source",
        help="Shown with the answer.",
        example="Benchmark of 12 March",
    ),
    _number(
        "usd_system",
        "Price of a system",
        "USD",
        "400000",
        "Replaces the list price. Never part of a link.",
        "prices.system_usd",
        private=True,
    ),
    _number(
        "usd_hour",
        "Price of a GPU hour",
        "USD/h",
        "2.50",
        "Replaces the cloud list price. Never part of a link.",
        "prices.gpu_hour_usd",
        private=True,
    ),
    _number("years", "Depreciation", "years", "5", "Over which a purchase is spread.", "prices.depreciation_years"),
)

FIELDS: dict[str, Field] = {f.key: f for f in (*_MODEL, *_WORKLOAD, *_LIMITS, *_HARDWARE, *_ASSUMPTIONS)}
"""Every field by key, in the order of the form."""

BY_PATH: dict[str, Field] = {f.path: f for f in FIELDS.values() if f.path}
"""Every field by the scenario key that it sets."""

LENGTH_KEYS = ("isl", "osl", "system", "doc", "question")
"""Fields whose unit is the one chosen in "Lengths in"."""
