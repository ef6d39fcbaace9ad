"""SGLang ``bench_serving``: JSON Lines, one run a line, appended by every run.

Read from a real line of a version without model name; the fields of newer versions (``server_info``, P90 and P95,
``--output-details``) follow the public source of 2025 and are unverified against a real file. All latencies in ms.
"""

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, flat_stats
from collectors.benchmarks.records import BenchmarkRun, Imported
from collectors.benchmarks.rows import both_throughputs, drafts_note, engine_of, rate_or_concurrency, read_objects

FORMAT = "SGLang bench_serving"
FILE = "the JSON Lines of `--output-file`"
PRIORITY = 20  # the lowest is asked first: see reader.Tool
ENGINE = "sglang"

NOTES = (
    "ITL is the gap between two chunks of an answer; TPOT is the mean per request.",
    "A short warm-up request is sent first and not reported.",
    "Output tokens are those the server reports; the count of the text again by the client is a separate field.",
    "Only completed requests are counted; the file does not say how many failed unless it holds details.",
)
RETOKENIZED_TOLERANCE = 0.05
"""From here on the two token counts are worth a note: special tokens make up less."""


def detect(document: Document) -> bool:
    """Only SGLang's client writes ``mean_e2e_latency_ms``."""
    return {"mean_e2e_latency_ms", "request_throughput"} <= document.first.keys()


def parse(document: Document) -> Imported:
    """One point a line."""
    return read_objects(document, FORMAT, _point, notes=NOTES)


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    load = rate_or_concurrency(fields)
    completed = fields.whole("completed")
    total_in, total_out = fields.number("total_input_tokens"), fields.number("total_output_tokens")
    output, sent = fields.number("output_throughput"), fields.number("input_throughput")
    errors = fields.items("errors")
    server = fields.child("server_info")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        model=fields.text("model", "model_id") or server.text("served_model_name", "model_path"),
        engine=engine_of(fields.text("backend")),
        engine_version=server.text("version"),
        tp=server.count("tp_size"),
        pp=server.count("pp_size"),
        ep=server.count("ep_size"),
        dp=server.count("dp_size"),
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        concurrency_mean=fields.number("concurrency"),
        isl_mean=total_in / completed if total_in and completed else None,
        osl_mean=total_out / completed if total_out and completed else None,
        duration_s=fields.number("duration"),
        requests_completed=completed,
        requests_failed=sum(bool(error) for error in errors) if errors else None,
        ttft_ms=flat_stats(fields, "ttft", "{}_ttft_ms"),
        tpot_ms=flat_stats(fields, "tpot", "{}_tpot_ms"),
        itl_ms=flat_stats(fields, "itl", "{}_itl_ms"),
        e2e_ms=flat_stats(fields, "e2e_latency", "{}_e2e_latency_ms"),
        requests_per_s=fields.number("request_throughput"),
        output_tokens_per_s=output,
        total_tokens_per_s=both_throughputs(fields.number("total_throughput"), sent, output),
        notes=load.notes + _notes(fields, total_out),
    )


def _notes(fields: Fields, total_out: float | None) -> tuple[str, ...]:
    again, accepted = fields.number("total_output_tokens_retokenized"), fields.number("accept_length")
    notes = []
    if total_out and again is not None and abs(again / total_out - 1) > RETOKENIZED_TOLERANCE:
        notes.append(f"the text holds {again:,.0f} tokens where {total_out:,.0f} are counted: answers may be cut short")
    return (*notes, *drafts_note(accepted))
