"""AIPerf: profile_export_aiperf.json and profile_export_aiperf.csv, the summary of one run.

Read from real exports of AIPerf 0.13 (schema 1.4); the older ``input_config.loadgen`` and ``records`` follow the public
documentation and are unverified against a real file. The client counts output tokens by reading the text again unless
told to use the server's; where both counts are there, the server's is used and TPOT and tokens/s are converted. Rates
are over the time of the whole phase, which is 2 to 5 % longer than from the first to the last request of a short run.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields
from collectors.benchmarks.nvidia_metrics import COMMON_NOTES, blocks_of, point_of
from collectors.benchmarks.records import BenchmarkRun, Imported
from collectors.benchmarks.rows import EVEN_NOTE, BenchmarkLoad, capped_note, moment, read_objects, read_rows
from collectors.errors import BadRow, NotAResultFile

FORMAT = "AIPerf"
FILE = "`profile_export_aiperf.json`, or `.csv` and `profile_export.jsonl` beside it"
PRIORITY = 50  # the lowest is asked first: see reader.Tool
ENGINE = None

CSV_NOTES = ("The CSV rounds to two decimals and states neither model nor load: the JSON beside it states both.",)

_OPTION = r"--{}[ =]'?([\d.]+)'?(?= |$)"
_FOLDER = re.compile(r"(concurrency|request_rate)_?([\d.]*\d)")


def detect(document: Document) -> bool:
    """The JSON names its version or its load generator; the CSV has a metric per line and AIPerf's own metrics."""
    if document.kind == "text":
        head = document.text.lstrip()[:200].split("\n", 1)[0]
        return head.startswith("Metric,avg,") and "Benchmark Duration" in document.text
    return document.is_object and ("aiperf_version" in document.first or _has_loadgen(document.first))


def _has_loadgen(values: Mapping[str, object]) -> bool:
    config = values.get("input_config")
    return isinstance(config, dict) and isinstance(config.get("loadgen"), dict)


def parse(document: Document) -> Imported:
    """The one point of the export. Raises NotAResultFile for AIPerf's other exports."""
    if document.kind == "text":
        rows = [(1, blocks_of(document))]
        return read_rows(document.name, FORMAT, rows, _from_csv, notes=COMMON_NOTES + CSV_NOTES, cells=True)
    values = document.first
    if "metrics" in values:
        kind = "server metrics" if "summary" in values else "a summary over several runs"
        raise NotAResultFile(f"{document.name} holds {kind} of AIPerf: import profile_export_aiperf.json of the run.")
    return read_objects(document, FORMAT, _from_json, notes=COMMON_NOTES)


def _from_json(file: str, row: int, fields: Fields) -> BenchmarkRun:
    blocks = fields.child("records") if fields.has("records") else fields
    point = point_of(file, row, FORMAT, blocks)
    config = fields.child("input_config")
    load = _load(fields, config)
    failed = point.requests_failed
    if failed is None and fields.values.get("error_summary") == []:
        failed = 0
    gpu, note = _gpu(fields)
    cancelled = ("the run was cancelled",) if fields.values.get("was_cancelled") is True else ()
    return replace(
        point,
        tool_version=fields.text("aiperf_version"),
        when=moment(fields.values.get("start_time")),
        model=_model(config),
        gpu=gpu,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        requests_failed=failed,
        notes=point.notes + load.notes + note + cancelled,
    )


def _from_csv(file: str, row: int, fields: Fields) -> BenchmarkRun:
    load = load_of_path(file)
    point = point_of(file, row, FORMAT, fields)
    return replace(point, mode=load.mode, concurrency=load.concurrency, request_rate_rps=load.rate_rps)


def _load(fields: Fields, config: Fields) -> BenchmarkLoad:
    """The profiling phase (0.13), the load generator (before), or the command line where neither is understood."""
    for phase in config.items("phases"):
        if isinstance(phase, dict) and phase.get("kind", phase.get("name")) == "profiling":
            load = _as_load(Fields(values=phase, path="input_config.phases."), "rate", phase.get("type"))
            if load.mode:
                return load
    generator = config.child("loadgen")
    load = _as_load(generator, "request_rate", generator.text("arrival_pattern", "request_rate_mode"))
    if load.mode:
        return load
    command = fields.child("run_info").values.get("cli_command") or config.values.get("cli_command")
    return load_of_command(command if isinstance(command, str) else "")


def load_of_command(text: str) -> BenchmarkLoad:
    """The load that a command line asks for: "aiperf profile --concurrency 10"."""
    options = {name: re.search(_OPTION.format(name), text) for name in ("request-rate", "concurrency")}
    values: dict[str, object] = {name: match[1] for name, match in options.items() if match}
    return _as_load(Fields(values=values, cells=True), "request-rate", None)


def _as_load(fields: Fields, rate_key: str, pattern: object) -> BenchmarkLoad:
    rate, concurrency = fields.number(rate_key), fields.number("concurrency")
    if rate:
        notes: tuple[str, ...] = (EVEN_NOTE,) if pattern == "constant" else ()
        if concurrency:
            notes += (capped_note(concurrency),)
        return BenchmarkLoad(mode="fixed_rate", rate_rps=rate, concurrency=concurrency or None, notes=notes)
    return BenchmarkLoad(mode="fixed_concurrency", concurrency=concurrency) if concurrency else BenchmarkLoad()


def load_of_path(path: str) -> BenchmarkLoad:
    """The load from the folder's name, which both tools build from it: "...-concurrency10/", "...-request_rate5.0/"."""
    matches = _FOLDER.findall(path)
    if not matches:
        return BenchmarkLoad()
    kind, digits = matches[-1]
    try:
        value = float(digits)
    except ValueError:
        return BenchmarkLoad()
    if not 0 < value <= 1e6:
        return BenchmarkLoad()
    if kind == "concurrency":
        return BenchmarkLoad(mode="fixed_concurrency", concurrency=value)
    return BenchmarkLoad(mode="fixed_rate", rate_rps=value)


def _model(config: Fields) -> str | None:
    for item in config.child("models").items("items") if isinstance(config.values.get("models"), dict) else []:
        if isinstance(item, dict):
            return Fields(values=item).text("name")
    names = config.child("endpoint").values.get("model_names")
    if isinstance(names, list) and names:
        return Fields(values={"model": names[0]}).text("model")
    return None


def _gpu(fields: Fields) -> tuple[str | None, tuple[str, ...]]:
    """Name of the GPU the telemetry saw, and how many of them: more than the model runs on may have been seen."""
    names: list[str] = []
    endpoints = fields.child("telemetry_data").child("endpoints")
    for endpoint in endpoints.values:
        gpus = endpoints.child(endpoint).child("gpus")
        names += [name for gpu in gpus.values if (name := gpus.child(gpu).text("gpu_name"))]
    if not names:
        return None, ()
    if len(set(names)) > 1:
        raise BadRow("the telemetry saw GPUs of several kinds")
    return names[0], (f"the telemetry saw {len(names)} GPUs; how many served the model is not stated",)
