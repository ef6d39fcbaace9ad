"""Fields about the demand: model, workload, limits."""

from __future__ import annotations

from ui.form.field import Field, choice, number, switch

MODEL = (
    Field(
        key="name",
        kind="text",
        label="Scenario name",
        path="name",
        help="Shown at the top of the page and in every download.",
    ),
    choice(
        "model_by",
        "Model from",
        "Catalogue: published models. Size: only the number of parameters is known. "
        "config.json: any Hugging Face model.",
    ),
    choice("model", "Model", "Type to search the catalogue, or type any Hugging Face id or common name.", "model"),
    Field(
        key="size_name", kind="text", label="Model name", path="model.name", help="Any name.", example="NeMo 43B GPT"
    ),
    number(
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

WORKLOAD = (
    number(
        "isl",
        "Prompt length",
        "",
        "3500",
        "Everything the model reads for one request: system prompt, retrieved documents, chat history and question.",
        "workload.input_tokens",
        short="Prompt",
    ),
    number(
        "osl",
        "Output length",
        "",
        "500",
        "Mean length of one answer. Reasoning models: count the hidden reasoning too.",
        "workload.output_tokens",
        short="Output",
    ),
    choice("unit", "Lengths in", "Words, characters and pages are converted with the ratio of the language."),
    choice("lang", "Language", "Tokens per word differ between languages; the ratio can be changed beside."),
    number(
        "ratio",
        "Words per token",
        "words/token",
        "0.75",
        "Overrides the ratio of the language. Empty: the ratio of the language.",
    ),
    number(
        "isl95",
        "95th percentile of the prompt",
        "tokens",
        "9000",
        "Empty: every prompt has the same length. Filled: the prompt above is read as the median.",
        "workload.input_tokens.p95",
    ),
    number(
        "osl95",
        "95th percentile of the output",
        "tokens",
        "1500",
        "Empty: every answer has the same length. Filled: the output above is read as the median.",
        "workload.output_tokens.p95",
    ),
    switch(
        "compose",
        "Build the prompt from its parts",
        "System prompt + retrieved documents + chat history + question, instead of one length.",
    ),
    number("system", "System prompt", "", "300", "Instructions sent with every request."),
    number("docs", "Retrieved documents", "documents", "5", "Passages that retrieval adds to one request; 0 without."),
    number("doc", "Length of a document", "", "600", "Mean length of one retrieved passage."),
    number(
        "turns",
        "Earlier turns sent again",
        "turns",
        "4",
        "Chat history: each turn is one question and one answer of the lengths given here; 0 without.",
    ),
    number("question", "Question", "", "50", "What the user types."),
    choice(
        "load",
        "Load from",
        "Peak requests/s are sized for directly; an average is raised to a Poisson "
        "percentile; daily users are spread over the working day.",
    ),
    number(
        "rps",
        "Peak load",
        "requests/s",
        "31",
        "Requests that arrive per second at the busiest time.",
        "workload.peak_rps",
    ),
    number(
        "avg",
        "Average load",
        "requests/s",
        "25",
        "Mean requests per second; arrivals are taken as Poisson.",
        "workload.average_rps",
    ),
    number(
        "avg_pct",
        "Peak percentile",
        "%",
        "95",
        "The peak that is sized for: this percentile of the requests in one second.",
        "workload.peak_percentile",
    ),
    number(
        "users", "Daily users", "people", "50000", "People who use it on a working day.", "workload.users.daily_users"
    ),
    number(
        "per_user",
        "Requests per user",
        "a day",
        "3",
        "Mean requests of one user a day.",
        "workload.users.requests_per_user",
        short="Requests each",
    ),
    number("hours", "Working day", "h", "8", "Hours over which the requests arrive.", "workload.users.hours"),
    number(
        "p2m",
        "Peak to mean",
        "ratio",
        "2",
        "How much busier the busiest time is than the mean.",
        "workload.users.peak_to_mean",
        short="Peak/mean",
    ),
    number("growth", "Growth", "%", "20", "Extra demand the plan keeps room for.", "workload.growth_percent"),
    choice(
        "mode",
        "Answers are",
        "Streamed: TTFT and ITL count. Whole: the reader waits for the last token, so E2E "
        "counts. Offline: no latency limit, maximum throughput.",
        "workload.mode",
    ),
    number(
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

LIMITS = (
    number(
        "ttft",
        "TTFT limit",
        "ms",
        "2000",
        "Time to first token at the percentile below. Empty: no limit.",
        "limits.ttft_ms",
    ),
    number(
        "itl",
        "ITL limit",
        "ms",
        "100",
        "Inter-token latency at the percentile below; fast reading is 90 ms, "
        "average reading 200 ms per token. Empty: no limit.",
        "limits.itl_ms",
    ),
    number(
        "e2e",
        "E2E limit",
        "ms",
        "20000",
        "Time to last token at the percentile below. Empty: no limit.",
        "limits.e2e_ms",
    ),
    number(
        "pct",
        "Percentile of the limits",
        "%",
        "95",
        "95: at most one request in 20 may exceed a limit.",
        "limits.percentile",
    ),
)
