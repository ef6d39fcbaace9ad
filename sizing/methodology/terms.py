"""The words of the field as this product uses them, one sentence or two each, grouped as they are read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One word of the field: ``name`` as shown, ``meaning`` in plain words, ``also`` other names, ``group``."""

    name: str
    meaning: str
    also: tuple[str, ...] = ()
    group: str = ""


def _group(group: str, *terms: Term) -> tuple[Term, ...]:
    return tuple(Term(term.name, term.meaning, term.also, group) for term in terms)


TERMS: tuple[Term, ...] = (
    *_group(
        "Request and latency",
        Term(
            "ISL",
            "Input sequence length: all tokens of the prompt, that is system prompt, retrieved documents, chat "
            "history and question together.",
            ("input length", "prompt length", "input tokens"),
        ),
        Term(
            "OSL",
            "Output sequence length: tokens generated for one request, reasoning tokens included.",
            ("output length", "output tokens"),
        ),
        Term(
            "Token",
            "The unit a model reads and writes. One English token is about 0.75 words; other languages and "
            "code need more tokens for the same text.",
        ),
        Term(
            "TTFT",
            "Time to first token: from sending the request to its first output token. Waiting in the queue "
            "and prefill are in it.",
            ("time to first token", "first-token latency"),
        ),
        Term(
            "ITL",
            "Inter-token latency: the gap between two output tokens of a request. Shown as the mean gap of a "
            "request, so that percentiles are over requests.",
            ("inter-token latency", "TPOT", "TBT"),
        ),
        Term(
            "TPOT",
            "Time per output token: the mean of the gaps of one request after its first token, "
            "(E2E - TTFT) / (OSL - 1). What this product shows as ITL.",
            ("time per output token",),
        ),
        Term(
            "E2E",
            "End-to-end latency: from sending the request to its last token, TTFT + (OSL - 1) x ITL.",
            ("end-to-end latency", "last-token latency", "request latency"),
        ),
        Term(
            "Queue time",
            "The part of TTFT in which a request waits before the engine starts on its prompt.",
            ("waiting time",),
        ),
        Term(
            "Percentile",
            "p95 TTFT of 480 ms means that 95 of 100 requests see their first token within 480 ms. A "
            "mean says nothing about the slow ones, so every latency here names its percentile.",
            ("p50", "p90", "p95", "p99", "quantile", "median"),
        ),
        Term(
            "Latency limit",
            "What TTFT, ITL or E2E may be at most, at a percentile. A deployment that misses one limit does not count.",
            ("SLO", "service-level objective", "SLA", "target"),
        ),
        Term(
            "Streaming",
            "Tokens are shown as they are made: TTFT is felt, and ITL only when it is slower than reading.",
            ("mode",),
        ),
        Term(
            "Sequential",
            "The whole answer is needed before anything happens with it (agents, extraction): E2E is what counts.",
        ),
        Term("Offline", "Nobody waits: there is no latency limit and the most tokens per GPU win.", ("batch job",)),
    ),
    *_group(
        "Load",
        Term(
            "Requests/s",
            "Requests that arrive per second. Sizing uses the peak, not the mean.",
            ("rps", "request rate", "prompts/s", "QPS"),
        ),
        Term("Peak factor", "Peak requests/s divided by the mean of the busy hours.", ("peak-to-mean",)),
        Term(
            "Poisson peak",
            "The requests in one second that random arrivals do not exceed in the given share of "
            "seconds: a mean of 64 per second has a 95th percentile of 77.",
            ("Poisson percentile",),
        ),
        Term(
            "Arrivals",
            "How requests come in. Poisson: independent users. Gamma with cv > 1: in bursts; cv < 1: "
            "more evenly. cv is the standard deviation of the gaps divided by their mean.",
            ("gamma", "cv", "bursty"),
        ),
        Term(
            "Concurrency",
            "Requests in flight: sent and not finished. By Little's law it is requests/s x time in the system.",
            ("requests in flight", "batch size", "running requests"),
        ),
        Term(
            "Little's law",
            "Mean number in a system = arrival rate x mean time in it; true for every stable system.",
            ("Little",),
        ),
        Term(
            "Throughput",
            "Here always with its unit: output tokens/s per GPU, output tokens/s per instance, or requests/s.",
            ("output tokens/s per GPU",),
        ),
        Term("Goodput", "Requests per second that meet every latency limit. Load beyond the goodput is served late."),
        Term(
            "Utilisation",
            "Load divided by capacity within the limits. Not what nvidia-smi calls GPU utilisation: "
            "that says the GPU was busy, not that it was efficient.",
            ("utilization", "busy"),
        ),
        Term(
            "Knee",
            "The load beyond which latency grows faster than the load. Left of it, more load costs little "
            "latency; right of it, a small peak hurts.",
            ("saturation",),
        ),
        Term("Stability limit", "The request rate beyond which the queue grows for ever, whatever the limits."),
        Term(
            "Headroom",
            "Capacity kept free on purpose: the utilisation cap, spare instances and growth.",
            ("utilisation cap", "growth"),
        ),
    ),
    *_group(
        "Serving",
        Term(
            "Prefill",
            "Reading the prompt: all its tokens in one go or in chunks, bound by the matrix rate. Ends "
            "with the first output token.",
            ("prompt processing",),
        ),
        Term(
            "Decode",
            "Writing the answer token by token; every step reads all weights and the KV cache, so it is "
            "bound by memory bandwidth.",
            ("generation",),
        ),
        Term("Step", "One pass of the engine through the model, for all sequences in flight.", ("iteration",)),
        Term(
            "In-flight batching",
            "Requests join and leave the running batch at every step, instead of waiting for a batch to finish.",
            ("continuous batching", "IFB"),
        ),
        Term(
            "Chunked prefill",
            "Long prompts are read in pieces, between decode steps, so that others keep their ITL. "
            "The token budget is the most tokens in one step.",
            ("token budget", "max_num_batched_tokens"),
        ),
        Term(
            "KV cache",
            "Keys and values of all tokens so far, kept in GPU memory so that they are not computed "
            "again. It decides how many requests fit at once.",
            ("key-value cache",),
        ),
        Term(
            "KV block",
            "The KV cache is handed out in blocks of some tokens; the last block of a request is partly empty.",
            ("block", "page", "PagedAttention"),
        ),
        Term(
            "Preemption",
            "The engine puts a running request back into the queue because the KV cache is full. Its "
            "work is done again; a sized deployment should see none.",
            ("eviction",),
        ),
        Term(
            "Prefix cache",
            "Prompt beginnings seen before (system prompt, chat history) are not computed again. "
            "Saves prefill, and memory where requests share it.",
            ("prefix caching", "KV reuse", "hit rate"),
        ),
        Term(
            "Speculative decoding",
            "A small model or extra head guesses several tokens, the model checks them in one "
            "step. Helps most at low load.",
            ("MTP", "draft model", "acceptance rate"),
        ),
        Term(
            "Batch limit",
            "The most requests that an instance has in flight; more wait for a slot. Lower limits make "
            "tokens come faster and requests wait longer.",
            ("maximum batch size", "max_num_seqs"),
        ),
        Term(
            "Disaggregated serving",
            "Prefill and decode run on GPUs of their own, and the KV cache is sent from one to the other.",
            ("prefill/decode disaggregation", "PD disaggregation"),
        ),
        Term(
            "Engine",
            "The program that serves the model: TensorRT-LLM, vLLM, SGLang, NIM, TGI.",
            ("TensorRT-LLM", "vLLM", "SGLang", "NIM", "TGI", "serving engine"),
        ),
    ),
    *_group(
        "Hardware and parallelism",
        Term("Instance", "One copy of the model, on TP x PP x DP GPUs; load is spread over instances.", ("replica",)),
        Term(
            "System",
            "What is bought or rented as a whole: a server such as DGX H100 with 8 GPUs, a rack, or a cloud instance.",
            ("server", "node", "rack"),
        ),
        Term(
            "Spare instances",
            "Instances beyond what the peak needs, for failures and maintenance.",
            ("N+1", "N+k", "redundancy"),
        ),
        Term(
            "TP",
            "Tensor parallelism: every layer is split over GPUs that exchange results twice per layer. Lowers "
            "latency; wants NVLink.",
            ("tensor parallelism",),
        ),
        Term(
            "PP",
            "Pipeline parallelism: each GPU holds some layers. Fits larger models; does not make one request faster.",
            ("pipeline parallelism",),
        ),
        Term(
            "EP",
            "Expert parallelism: the experts of a MoE model are spread over GPUs, and tokens travel to them.",
            ("expert parallelism",),
        ),
        Term(
            "DP",
            "Attention data parallelism: GPUs of one instance hold whole attention layers and different "
            "requests, and share the experts.",
            ("data parallelism", "attention DP"),
        ),
        Term(
            "NVLink",
            "NVIDIA's fast link between GPUs; a scale-up domain is the set of GPUs it joins. Datasheets "
            "give both directions together; the engine uses one.",
            ("scale-up domain", "Infinity Fabric"),
        ),
        Term("PCIe", "The link of cards without NVLink: 16 to 128 GB/s in one direction, by generation."),
        Term("All-reduce", "Adding up partial results over all GPUs of a TP group, twice per layer.", ("collective",)),
        Term(
            "TFLOPS, dense",
            "10^12 floating-point operations per second for full matrices. Datasheets often print "
            "the sparse figure, twice as high, which language models do not reach; only dense ones are used here.",
            ("dense", "sparse", "sparsity", "FLOPS"),
        ),
        Term(
            "Memory bandwidth",
            "Bytes a GPU reads from its memory per second. Sets the decode speed at low concurrency.",
            ("HBM bandwidth",),
        ),
        Term("GB", "10^9 bytes, as datasheets print it. GiB (2^30 bytes) is never used here.", ("GiB", "gigabyte")),
        Term("TDP", "Thermal design power: the most a GPU draws for long, in watts.", ("power",)),
        Term(
            "Roofline",
            "A step takes as long as the slower of computing and reading memory, each at a fitted share "
            "of the datasheet rate, plus communication and overhead.",
            ("efficiency",),
        ),
        Term(
            "Kernel tables",
            "NVIDIA's measured durations of single GPU kernels (aiconfigurator-core), combined "
            "with the roofline by weights that fall where both contradict each other.",
            ("aiconfigurator",),
        ),
    ),
    *_group(
        "Model",
        Term(
            "Parameters",
            "The numbers a model consists of. Memory follows all of them, speed those active per token.",
            ("weights", "active parameters"),
        ),
        Term("Dense", "Every token uses all parameters; the opposite of MoE.", ("dense model",)),
        Term(
            "MoE",
            "Mixture of experts: a router sends each token to some of many feed-forward blocks. Memory is "
            "needed for all, computing only for those used.",
            ("mixture of experts", "experts"),
        ),
        Term(
            "MHA",
            "Multi-head attention: every head has keys and values of its own; the largest KV cache.",
            ("multi-head attention",),
        ),
        Term(
            "GQA",
            "Grouped-query attention: several heads share keys and values; the KV cache shrinks as much.",
            ("grouped-query attention", "KV heads"),
        ),
        Term("MQA", "Multi-query attention: all heads share one set of keys and values.", ("multi-query attention",)),
        Term(
            "MLA",
            "Multi-head latent attention (DeepSeek): one compressed vector per token and layer is cached; TP "
            "does not split it.",
            ("multi-head latent attention",),
        ),
        Term(
            "Sliding window",
            "Some layers look back only so many tokens, so their KV cache stops growing.",
            ("SWA", "local attention"),
        ),
        Term(
            "Hybrid model",
            "Some layers are Mamba or linear attention, with a state of fixed size instead of a KV cache.",
            ("Mamba", "linear attention", "state-space model"),
        ),
        Term(
            "Context window",
            "The most tokens, prompt and answer together, that the model was made for.",
            ("max context", "maximum context"),
        ),
    ),
    *_group(
        "Number formats",
        Term(
            "Quantisation",
            "Weights, and sometimes activations and KV cache, in fewer bits: less memory, often "
            "faster, some loss of accuracy.",
            ("quantization", "precision"),
        ),
        Term(
            "BF16", "16-bit brain float: the range of 32 bits at half the memory; 2 bytes per parameter.", ("bfloat16",)
        ),
        Term("FP16", "16-bit float: 2 bytes per parameter.", ("float16", "half")),
        Term(
            "FP8",
            "8-bit float for weights and activations (W8A8): 1 byte per parameter; from Ada and Hopper on.",
            ("E4M3", "W8A8"),
        ),
        Term(
            "INT8 SmoothQuant",
            "8-bit integers for weights and activations; outliers are moved from activations into weights.",
            ("W8A8 INT8",),
        ),
        Term(
            "Weight-only",
            "Weights in 8 or 4 bits, computing in 16: faster at low load, slower than 16 bit at high load.",
            ("INT8 weight-only", "INT4 weight-only", "W8A16", "W4A16"),
        ),
        Term(
            "AWQ",
            "Activation-aware weight quantisation: 4-bit weights, scaled to keep what matters most.",
            ("INT4 AWQ",),
        ),
        Term("GPTQ", "4-bit weights, rounded one column after the other so that errors cancel.", ("INT4 GPTQ",)),
        Term("W4A8", "4-bit weights, 8-bit activations.", ("INT4-FP8 AWQ",)),
        Term("NVFP4", "NVIDIA's 4-bit float with a scale for every 16 values; from Blackwell on.", ("FP4", "W4A4")),
        Term("MXFP4", "The open 4-bit float with a scale for every 32 values; gpt-oss ships in it.", ("microscaling",)),
    ),
    *_group(
        "How sure",
        Term(
            "Conformal interval",
            "A range built from errors on measurements the model had not seen: about 80 of 100 "
            "such ranges hold the truth, without assuming a bell curve.",
            ("80 % interval", "low", "high"),
        ),
        Term(
            "Evidence",
            "Published measurements near the asked configuration; without them the range is wider.",
            ("measured points", "stratum"),
        ),
        Term(
            "Calibration",
            "Fitting the roofline, and the weights of its sources, to measurements.",
            ("fit", "efficiency surface"),
        ),
        Term(
            "Cross-validation",
            "Fitting without one model or GPU and predicting it, to see the error on hardware "
            "and models never measured.",
            ("leave-one-out",),
        ),
        Term(
            "Source",
            "Where a number comes from: measured, kernel tables with roofline, or roofline, in this order of trust.",
        ),
    ),
    *_group(
        "Money",
        Term("List price", "The public price; a negotiated one is lower and never put in a link.", ("price",)),
        Term("Depreciation", "Years over which a purchase is spread.", ("amortisation",)),
        Term(
            "USD per million tokens",
            "Hardware cost divided by output tokens if the peak load ran all the time; idle hours make it dearer.",
            ("cost per million tokens",),
        ),
        Term(
            "PUE", "Power usage effectiveness: power of the data centre divided by that of the machines.", ("energy",)
        ),
        Term(
            "On-prem, cloud, hybrid",
            "Own systems are priced per peak capacity, cloud per hour or token; hybrid buys "
            "the base load and rents the peaks.",
            ("on-prem", "cloud", "hybrid"),
        ),
    ),
)
