"""LLMPerf: *_summary.json (flat), *_individual_responses.json (a list of requests) and what is printed; all in seconds.

Checked on a real excerpt and on the real results of the public repository (version "2023-08-31"). The tool is dormant
since the end of 2024.
"""

import re
from collections.abc import Iterator

import numpy as np

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, Floats, latency_stats, quotient, sample_stats
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats, RowError
from collectors.benchmarks.rows import moment, read_objects, read_rows
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.percentiles import key_of

FORMAT = "LLMPerf"
FILE = "`..._summary.json`, with `..._individual_responses.json` if you like"
PRIORITY = 90  # the lowest is asked first: see reader.Tool
ENGINE = None

NOTES = (
    "LLMPerf's “inter token latency” is about E2E / tokens and includes the wait for the first token: it is left out. "
    "TPOT is computed as (E2E - TTFT) / (OSL - 1).",
    "Tokens are counted by the client with its own tokenizer, not by the server.",
    "Requests are launched in rounds of the concurrency, so that TTFT holds a start burst.",
    "The file names neither engine nor GPUs: state them before comparing.",
)
DERIVED_NOTE = "the mean TPOT is computed from the means of E2E, TTFT and OSL"
RESPONSES_NOTE = "requests without times of sending: neither load nor throughput; the *_summary.json states both"


_HEAD = re.compile(r"Results for token benchmark for (?P<model>\S+) queried with")
_TYPED = re.compile(r"--num-concurrent-requests[ =]+(\d+)")
_STATISTIC = re.compile(r"\s*(?P<name>p\d+|mean|min|max|stddev) = (?P<value>\S+)\s*")
_COUNTS = {
    "Number Of Errored Requests": "results_number_errors",
    "Overall Output Throughput": "results_mean_output_throughput_token_per_s",
    "Number Of Completed Requests": "results_num_completed_requests",
    "Completed Requests Per Minute": "results_num_completed_requests_per_min",
}
_COUNT = re.compile(rf"\s*(?P<name>{'|'.join(_COUNTS)}): (?P<value>[\d.]+)")


def detect(document: Document) -> bool:
    """Flat keys that begin with results_, or a list of requests with LLMPerf's names."""
    first = document.first
    if document.kind == "text":
        return bool(_HEAD.search(document.text)) and "end_to_end_latency_s" in document.text
    if document.is_object:
        return any(str(key).startswith(("results_ttft_s", "results_end_to_end_latency_s")) for key in first)
    return {"ttft_s", "end_to_end_latency_s", "number_output_tokens"} <= first.keys()


def parse(document: Document) -> Imported:
    """The one point of the run, or one a block that is printed."""
    if document.kind == "text":
        return read_rows(document.name, FORMAT, _printed(document.text), _summary, notes=NOTES, cells=True)
    if document.is_object:
        return read_objects(document, FORMAT, _summary, notes=NOTES)
    return _responses(document)


def _printed(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """What is printed of each run by the keys of the summary; the command that was typed above states concurrency."""
    heads = list(_HEAD.finditer(text))
    starts = [head.start() for head in heads]
    for head, before, start, end in zip(heads, [0, *starts], starts, [*starts[1:], len(text)], strict=False):
        typed = _TYPED.findall(text[before:start])
        stated = {"model": head["model"]} | ({"num_concurrent_requests": typed[-1]} if typed else {})
        metric = ""
        for line in text[start:end].splitlines():
            if match := _STATISTIC.fullmatch(line):
                kind = f"quantiles_{match['name']}" if match["name"][0] == "p" else match["name"]
                stated[f"results_{metric}_{kind}"] = match["value"]
            elif match := _COUNT.match(line):
                stated[_COUNTS[match["name"]]] = match["value"]
            elif re.fullmatch(r"\s*[a-z0-9_]+\s*", line):
                metric = line.strip()
        yield text.count("\n", 0, start) + 1, stated


def _summary(file: str, row: int, fields: Fields) -> BenchmarkRun:
    completed = fields.whole("results_num_completed_requests")
    per_minute = fields.number("results_num_completed_requests_per_min")
    rate = None if per_minute is None else per_minute / 60
    isl, osl = fields.number("results_number_input_tokens_mean"), fields.number("results_number_output_tokens_mean")
    output = fields.number("results_mean_output_throughput_token_per_s")
    ttft, e2e = _stats(fields, "ttft_s"), _stats(fields, "end_to_end_latency_s")
    tpot = LatencyStats()
    if osl and osl > 1 and ttft.mean is not None and e2e.mean is not None and e2e.mean >= ttft.mean:
        tpot = LatencyStats(mean=(e2e.mean - ttft.mean) / (osl - 1))
    concurrency = fields.number("num_concurrent_requests")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        tool_version=fields.text("version"),
        when=moment(fields.values.get("timestamp")),
        model=fields.text("model"),
        mode="fixed_concurrency" if concurrency else None,
        concurrency=concurrency,
        isl_mean=isl,
        osl_mean=osl,
        duration_s=quotient(completed, rate),
        requests_completed=completed,
        requests_failed=fields.whole("results_number_errors"),
        ttft_ms=ttft,
        tpot_ms=tpot,
        e2e_ms=e2e,
        requests_per_s=rate,
        output_tokens_per_s=output,
        total_tokens_per_s=output + rate * isl if output is not None and rate is not None and isl is not None else None,
        notes=(DERIVED_NOTE,) if tpot.stated else (),
    )


def _stats(fields: Fields, metric: str) -> LatencyStats:
    name = f"results_{metric}"

    def at(percent: float) -> float | None:
        return fields.number(f"{name}_quantiles_{key_of(percent)}", scale=MS_PER_S)

    return latency_stats(name, mean=fields.number(f"{name}_mean", scale=MS_PER_S), at=at)


def _responses(document: Document) -> Imported:
    """The list of requests as one point; a bad request is an error of its row."""
    good: list[tuple[float, float, float, float]] = []
    errors: list[RowError] = list(document.errors)
    failed = 0
    for row, value in document.rows:
        try:
            if not isinstance(value, dict):
                raise BadRow("not a JSON object")
            fields = Fields(values=value)
            if fields.has("error_code"):
                failed += 1
                continue
            good.append(_request(fields))
        except BadRow as error:
            errors.append(RowError(file=document.name, row=row, message=str(error)))

    def read(file: str, row: int, fields: Fields) -> BenchmarkRun:
        return _aggregate(file, row, np.array(good), failed)

    return read_rows(document.name, FORMAT, [(1, {})], read, notes=NOTES, errors=tuple(errors))


def _request(fields: Fields) -> tuple[float, float, float, float]:
    """(TTFT ms, E2E ms, tokens sent, tokens generated)."""
    values = (
        fields.number("ttft_s", scale=MS_PER_S),
        fields.number("end_to_end_latency_s", scale=MS_PER_S),
        fields.number("number_input_tokens"),
        fields.number("number_output_tokens"),
    )
    if any(value is None for value in values):
        raise BadRow("a time or a token count is missing")
    ttft, e2e, sent, generated = (value or 0.0 for value in values)
    return ttft, e2e, sent, generated


def _aggregate(file: str, row: int, requests: Floats, failed: int) -> BenchmarkRun:
    if requests.size == 0:
        raise BadRow("no request was completed")
    ttft, e2e, sent, generated = requests.T
    several = generated > 1
    tpot = np.maximum(e2e - ttft, 0.0)[several] / (generated[several] - 1)
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        isl_mean=float(sent.mean()),
        osl_mean=float(generated.mean()),
        requests_completed=len(requests),
        requests_failed=failed,
        ttft_ms=sample_stats(ttft),
        tpot_ms=sample_stats(tpot),
        e2e_ms=sample_stats(e2e),
        notes=(RESPONSES_NOTE,),
    )
