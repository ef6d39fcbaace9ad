"""GenAI-Perf: *_genai_perf.json and *_genai_perf.csv, the summary of one run; superseded by AIPerf.

Follows the public source of perf_analyzer (GenAI-Perf 0.0.8 to 0.0.16) and is unverified against a real file. The load
stands under ``input_config.perf_analyzer.stimulus``, in older versions beside the other options.
"""

from dataclasses import replace

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields
from collectors.benchmarks.nvidia_metrics import COMMON_NOTES, blocks_of, point_of
from collectors.benchmarks.records import BenchmarkRun, Imported
from collectors.benchmarks.rows import EVEN_NOTE, BenchmarkLoad, engine_of, read_objects, read_rows
from collectors.benchmarks.tools.aiperf import load_of_path
from collectors.errors import NotAResultFile

FORMAT = "GenAI-Perf"
FILE = "`profile_export_genai_perf.json` or `.csv`"
PRIORITY = 70  # the lowest is asked first: see reader.Tool
ENGINE = None

NOTES = (
    *COMMON_NOTES,
    "Output tokens are counted by the client, which reads the text again: a few more than the server generated.",
    "The measurement is a window of a longer run: requests at its edges may be left out.",
)


def detect(document: Document) -> bool:
    """Metrics in blocks beside ``input_config``, a CSV with a metric per line, or the raw requests of perf_analyzer."""
    if document.kind == "text":
        head = document.text.lstrip()[:200].split("\n", 1)[0]
        return head.startswith(("Metric,avg,", '"Metric","avg",'))
    first = document.first
    if document.is_object and "experiments" in first and "service_kind" in first:
        return True
    metrics = (first.get("request_latency"), first.get("request_throughput"))
    return document.is_object and "input_config" in first and any(isinstance(metric, dict) for metric in metrics)


def parse(document: Document) -> Imported:
    """The one point of the export. Raises NotAResultFile for the raw requests."""
    if document.kind == "text":
        rows = [(1, blocks_of(document))]
        return read_rows(document.name, FORMAT, rows, _from_csv, notes=NOTES, cells=True)
    if "experiments" in document.first:
        raise NotAResultFile(
            f"{document.name} holds the raw requests of GenAI-Perf: import the file that ends in _genai_perf.json."
        )
    return read_objects(document, FORMAT, _from_json, notes=NOTES)


def _from_json(file: str, row: int, fields: Fields) -> BenchmarkRun:
    config = fields.child("input_config")
    load = _load(config)
    return _with_load(point_of(file, row, FORMAT, fields), load, _model(config), _engine(config))


def _from_csv(file: str, row: int, fields: Fields) -> BenchmarkRun:
    return _with_load(point_of(file, row, FORMAT, fields), load_of_path(file), None, None)


def _with_load(point: BenchmarkRun, load: BenchmarkLoad, model: str | None, engine: str | None) -> BenchmarkRun:
    return replace(
        point,
        model=model,
        engine=engine,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        notes=point.notes + load.notes,
    )


def _load(config: Fields) -> BenchmarkLoad:
    """A rate wins over a concurrency, which has a default of one in some versions."""
    stimulus = config.child("perf_analyzer").child("stimulus")
    rate = stimulus.number("request_rate") or config.number("request_rate")
    if rate:
        return BenchmarkLoad(mode="fixed_rate", rate_rps=rate, notes=(EVEN_NOTE,))
    concurrency = stimulus.number("concurrency") or config.number("concurrency")
    return BenchmarkLoad(mode="fixed_concurrency", concurrency=concurrency) if concurrency else BenchmarkLoad()


def _model(config: Fields) -> str | None:
    for key in ("model_names", "model"):
        value = config.values.get(key)
        if isinstance(value, list) and value:
            return Fields(values={key: value[0]}).text(key)
        if isinstance(value, str):
            return config.text(key)
    return config.text("formatted_model_name")


def _engine(config: Fields) -> str | None:
    """Named only when Triton was asked directly; otherwise ``backend`` is a default that means nothing."""
    return engine_of(config.text("backend")) if config.text("service_kind") == "triton" else None
