"""trtllm-bench ``throughput``: the report of ``--report_json``, and the report it prints.

Follows the public source of TensorRT-LLM (0.21 to 1.2) and is unverified against a real JSON; the text is checked on
the printed report of an NVIDIA blog post (0.21.0rc0). All latencies in ms; TTFT and TPOT only with ``--streaming``. The
engine is driven in process, without HTTP.
"""

import re
from collections.abc import Iterator, Mapping

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import BenchmarkLoad, read_objects, read_rows
from collectors.errors import NotAResultFile
from commandline.percentiles import key_of

FORMAT = "trtllm-bench"
FILE = "the JSON of `--report_json`"
PRIORITY = 100  # the lowest is asked first: see reader.Tool
ENGINE = "trtllm"

NOTES = (
    "The engine runs in process: no HTTP, no tokenisation of the requests, so latencies are lower than a server's.",
    "TPOT is (E2E - TTFT) / (OSL - 1) per request, which the tool also calls ITL.",
    "The concurrency asked for is not in the report: it is told from the mean number of requests in flight.",
)
ALL_QUEUED_SHARE = 0.4
"""Queued all at once, requests wait in flight: on average at least about half of them are."""

_HEAD = re.compile(r"^= (?:ENGINE DETAILS|[A-Z_]+ BACKEND)\s*$", re.MULTILINE)
"""The heading with which a printed report begins."""
_LINE = re.compile(r"^(?P<name>[A-Z][^:\n]*?):[ \t]+(?P<value>\S.*?)[ \t]*$", re.MULTILINE)
_STATISTIC = re.compile(r"^\[(?P<metric>TTFT|TPOT|Latency)\] (?P<name>\w+)[ \t]*: (?P<value>\S+)", re.MULTILINE)

# Section and key of the JSON for each line of the printed report.
PRINTED = {
    "Model": ("engine", "model"),
    "TensorRT-LLM Version": ("engine", "version"),
    "TensorRT LLM Version": ("engine", "version"),
    "Dtype": ("engine", "dtype"),
    "KV Cache Dtype": ("engine", "kv_cache_dtype"),
    "Quantization": ("engine", "quantization"),
    "Number of requests": ("request_info", "num_requests"),
    "Number of concurrent requests": ("request_info", "avg_num_concurrent_requests"),
    "Average Input Length (tokens)": ("request_info", "avg_input_length"),
    "Average Output Length (tokens)": ("request_info", "avg_output_length"),
    "TP Size": ("world_info", "tp_size"),
    "PP Size": ("world_info", "pp_size"),
    "EP Size": ("world_info", "ep_size"),
    "Request Throughput (req/sec)": ("performance", "request_throughput_req_s"),
    "Total Output Throughput (tokens/sec)": ("performance", "system_output_throughput_tok_s"),
    "Total Token Throughput (tokens/sec)": ("performance", "system_total_throughput_tok_s"),
    "Total Latency (ms)": ("performance", "total_latency_ms"),
    "Average request latency (ms)": ("performance", "avg_request_latency_ms"),
}
PRINTED_STATISTICS = {
    "TTFT": ("streaming_metrics", "ttft_percentiles"),
    "TPOT": ("streaming_metrics", "tpot_percentiles"),
    "Latency": ("performance", "request_latency_percentiles_ms"),
}
PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "fp8": "fp8", "nvfp4": "nvfp4", "w4a16_awq": "int4_awq"}


def detect(document: Document) -> bool:
    """The sections of the report, its headings in text, or the log of iterations."""
    if document.kind == "text":
        return "= PERFORMANCE OVERVIEW" in document.text and "Request Throughput (req/sec)" in document.text
    first = document.first
    return {"engine", "performance", "request_info"} <= first.keys() or {"iter", "iterLatencyMS"} <= first.keys()


def parse(document: Document) -> Imported:
    """The one point of the report. Raises NotAResultFile for the log of iterations."""
    if "iterLatencyMS" in document.first:
        raise NotAResultFile(
            f"{document.name} is the iteration log of trtllm-bench, without requests: import the file of --report_json."
        )
    if document.kind == "text":
        return read_rows(document.name, FORMAT, _reports(document.text), _point, notes=NOTES, cells=True)
    return read_objects(document, FORMAT, _point, notes=NOTES)


def _reports(text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """The line of each printed report with what it says; a text with one heading or none is one report."""
    starts = [match.start() for match in _HEAD.finditer(text)]
    starts = [0, *starts[1:]]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text.count("\n", 0, start) + 1, _printed(text[start:end])


def _printed(text: str) -> Mapping[str, object]:
    """The printed report in the shape of the JSON; the first of several values counts, "None" is no value."""
    sections: dict[str, dict[str, object]] = {}
    for match in _LINE.finditer(text):
        if match["name"] in PRINTED and match["value"] != "None":
            section, key = PRINTED[match["name"]]
            sections.setdefault(section, {}).setdefault(key, match["value"])
    for match in _STATISTIC.finditer(text):
        section, key = PRINTED_STATISTICS[match["metric"]]
        block = sections.setdefault(section, {}).setdefault(key, {})
        if isinstance(block, dict):
            block.setdefault(match["name"].lower(), match["value"])
    return sections


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    engine, world, requests = fields.child("engine"), fields.child("world_info"), fields.child("request_info")
    performance, streaming = fields.child("performance"), fields.child("streaming_metrics")
    completed, in_flight = requests.whole("num_requests"), requests.number("avg_num_concurrent_requests")
    tp, pp = world.count("tp_size"), world.count("pp_size")
    load = _load(completed, in_flight)
    version = engine.text("version")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        tool_version=version,
        model=engine.text("model"),
        engine="trtllm",
        engine_version=version,
        weight_precision=_precision(engine.text("quantization", "dtype")),
        kv_precision=_precision(engine.text("kv_cache_dtype")),
        gpu=fields.child("machine").text("name"),
        gpus=world.count("world_size") or (tp * (pp or 1) if tp else None),
        tp=tp,
        pp=pp,
        ep=world.count("ep_size"),
        mode=load.mode,
        concurrency=load.concurrency,
        concurrency_mean=in_flight,
        isl_mean=requests.number("avg_input_length"),
        osl_mean=requests.number("avg_output_length"),
        duration_s=performance.number("total_latency_ms", scale=1e-3),
        requests_completed=completed,
        ttft_ms=_stats(streaming, "ttft_percentiles", "avg_ttft_ms"),
        tpot_ms=_stats(streaming, "tpot_percentiles", "avg_tpot_ms"),
        e2e_ms=_stats(performance, "request_latency_percentiles_ms", "avg_request_latency_ms"),
        requests_per_s=performance.number("request_throughput_req_s"),
        output_tokens_per_s=performance.number("system_output_throughput_tok_s"),
        total_tokens_per_s=performance.number("system_total_throughput_tok_s"),
        notes=load.notes + (("speculative decoding was on",) if fields.has("decoding_stats") else ()),
    )


def _load(completed: int | None, in_flight: float | None) -> BenchmarkLoad:
    if not completed or not in_flight:
        return BenchmarkLoad()
    if in_flight >= ALL_QUEUED_SHARE * completed and completed > 1:
        return BenchmarkLoad(mode="offline")
    concurrency = float(max(1, round(in_flight)))
    return BenchmarkLoad(
        mode="fixed_concurrency",
        concurrency=concurrency,
        notes=(f"the concurrency of {concurrency:g} is the mean number of requests in flight, rounded",),
    )


def _precision(name: str | None) -> str | None:
    """The engine's word for a format in ours; an unknown one as it stands, "auto" and "NO_QUANT" as not stated."""
    if name is None or name.lower() in ("auto", "none", "no_quant"):
        return None
    return PRECISIONS.get(name.lower(), name.lower())


def _stats(section: Fields, percentiles: str, mean: str) -> LatencyStats:
    block = section.child(percentiles)
    average = block.number("average")
    return latency_stats(
        percentiles,
        mean=section.number(mean) if average is None else average,
        at=lambda percent: block.number(key_of(percent)),
    )
