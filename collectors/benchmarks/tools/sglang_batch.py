"""SGLang ``bench_one_batch`` (also of a server) and ``bench_offline_throughput``: JSON Lines, or what is printed.

After the public source of SGLang 0.4 and 0.5, with a published line of 0.5.13. Times are in SECONDS. A batch starts
together: its TTFT is that of the whole prefill, its step that of a full batch. ``output_throughput`` of the server's
form leaves out the prefill since 0.5 (``last_ttft`` stands beside it), before it did not.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, mean_alone, quotient
from collectors.benchmarks.records import BenchmarkRun, Imported
from collectors.benchmarks.rows import both_throughputs, drafts_note, engine_of, read_objects, read_rows

FORMAT = "SGLang batches"
FILE = "the JSON Lines of `bench_one_batch`, `bench_one_batch_server` or `bench_offline_throughput`"
PRIORITY = 22  # the lowest is asked first: see reader.Tool
ENGINE = "sglang"

NOTES = (
    "All sequences of a batch start together: no closed loop, in which they are spread over an answer.",
    "TTFT is the prefill of the whole batch, TPOT the step of a full one.",
    "The file names neither model nor GPUs nor parallelism: state them before comparing.",
)
_STEP = re.compile(
    r"(?P<kind>Prefill|Decode|Total)\.\s+(?:(?P<median>median) )?latency:\s+(?P<latency>[\d.]+) s, "
    r"(?:median )?throughput:\s+(?P<throughput>[\d.]+) token/s"
)
_OPTION = re.compile(r"--?(batch-size|input-len|output-len|model-path|model|tp-size|tp)[ =]([^\s-][^\s]*)")
_KEYS = {("Prefill", None): "prefill", ("Decode", "median"): "median_decode", ("Total", None): "total"}
_BATCH, _OFFLINE = {"batch_size", "input_len", "output_len"}, {"successful_requests", "total_latency"}
_OF_BATCHES = ("prefill_latency", "latency", "overall_throughput")


def detect(document: Document) -> bool:
    """The keys of either file, or the lines of a single batch."""
    keys = document.first.keys()
    batch = keys >= _BATCH and any(key in keys for key in _OF_BATCHES)
    printed = document.kind == "text" and {m["kind"] for m in _STEP.finditer(document.text)} >= {"Prefill", "Total"}
    return batch or keys >= _OFFLINE or printed


def parse(document: Document) -> Imported:
    """One point a batch, or a run."""
    if document.kind == "text":
        return read_rows(document.name, FORMAT, _printed(document.text), _batch, notes=NOTES, cells=True)
    return read_objects(document, FORMAT, _point, notes=NOTES)


def _printed(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """What is printed of each batch, by the keys of the file; the warm-up comes first and looks the same."""
    options = {name.replace("-", "_"): value for name, value in _OPTION.findall(text)}
    stated = dict(options)
    for number, line in enumerate(text.splitlines(), 1):
        match = _STEP.search(line)
        key = match and _KEYS.get((match["kind"], match["median"]))
        if not match or not key:
            continue
        stated |= {f"{key}_latency": match["latency"], f"{key}_throughput": match["throughput"]}
        if key == "total":
            yield number, stated
            stated = dict(options)


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    return _batch(file, row, fields) if fields.has("batch_size") else _offline(file, row, fields)


def _batch(file: str, row: int, fields: Fields) -> BenchmarkRun:
    """One batch. TPOT = the median step, or (latency - last TTFT) / (OSL - 1); E2E = the latency of the batch."""
    batch, sent, generated = (fields.number(key) for key in ("batch_size", "input_len", "output_len"))
    total = fields.number("total_latency", "latency")
    ttft = fields.number("prefill_latency", "last_ttft")
    step = fields.number("median_decode_latency", "decode_latency")
    if step is None and total and ttft and generated and generated > 1 and total > ttft:
        step = (total - ttft) / (generated - 1)
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        model=fields.text("model_path", "model"),
        engine=ENGINE,
        tp=Fields(values=fields.values, cells=True).count("tp_size", "tp"),
        concurrency=batch,
        isl_mean=sent,
        osl_mean=generated,
        duration_s=total,
        requests_completed=None if batch is None else int(batch),
        ttft_ms=mean_alone(ttft),
        tpot_ms=mean_alone(step),
        e2e_ms=mean_alone(total),
        requests_per_s=quotient(batch, total),
        output_tokens_per_s=batch * generated / total if batch and generated and total else None,
        total_tokens_per_s=fields.number("overall_throughput", "total_throughput"),
        notes=drafts_note(fields.number("acc_length") if _positive(fields, "acc_length") else None),
    )


def _positive(fields: Fields, key: str) -> bool:
    """Whether a figure is there: -1 stands for none."""
    value = fields.values.get(key)
    return isinstance(value, int | float) and value > 0


def _offline(file: str, row: int, fields: Fields) -> BenchmarkRun:
    """Everything sent at once, in process."""
    completed = fields.whole("successful_requests")
    sent, generated = fields.number("total_input_tokens"), fields.number("total_output_tokens")
    output = fields.number("output_throughput")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        engine=engine_of(fields.text("backend")) or ENGINE,
        mode="offline",
        isl_mean=quotient(sent, completed),
        osl_mean=quotient(generated, completed),
        duration_s=fields.number("total_latency"),
        requests_completed=completed,
        requests_per_s=fields.number("request_throughput"),
        output_tokens_per_s=output,
        total_tokens_per_s=both_throughputs(
            fields.number("total_throughput"), fields.number("input_throughput"), output
        ),
    )
