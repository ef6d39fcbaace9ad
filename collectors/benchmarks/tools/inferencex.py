"""InferenceX (formerly InferenceMAX) rows: agg_bmk.json, one run per GPU type, engine, layout and concurrency.

Checked on real rows of a public CI run (December 2025); the split of multi-node rows (``num_prefill_gpu``) follows the
public source of 2026. All latencies in SECONDS, throughput per GPU.

Data: SemiAnalysis InferenceX, Apache-2.0 with attribution.
"""

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, flat_stats
from collectors.benchmarks.records import BenchmarkRun, Imported
from collectors.benchmarks.rows import engine_of, read_objects
from collectors.errors import BadRow
from collectors.units import MS_PER_S

FORMAT = "InferenceX"
FILE = "the JSON of its rows (`agg_bmk.json`)"
PRIORITY = 110  # the lowest is asked first: see reader.Tool
ENGINE = None

MEAN_LENGTH_SHARE = 0.9
"""Lengths are drawn evenly between 0.8 and 1 times the nominal one."""
NOTES = (
    "Lengths are random between 0.8 and 1 times the nominal one: ISL and OSL are 0.9 times what the file states.",
    "All requests of the concurrency start together: mean and p99 of TTFT hold this burst, the median does not.",
    "TPOT is the mean per request, ITL the gap between two chunks.",
)


def detect(document: Document) -> bool:
    """Rows with hardware, concurrency and throughput per GPU."""
    return {"hw", "conc", "tput_per_gpu"} <= document.first.keys()


def parse(document: Document) -> Imported:
    """One point a row."""
    return read_objects(document, FORMAT, _point, notes=NOTES)


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    prefill, decode = fields.whole("num_prefill_gpu"), fields.whole("num_decode_gpu")
    split = bool(prefill)
    tp = fields.count("tp")
    gpus = (prefill or 0) + (decode or 0) if split else tp
    if not gpus:
        raise BadRow("the number of GPUs is not stated")
    output, total = fields.number("output_tput_per_gpu"), fields.number("tput_per_gpu")
    framework = fields.text("framework") or ""
    isl, osl = fields.number("isl"), fields.number("osl")
    # In a split deployment the file divides output by the GPUs that decode.
    output_gpus = decode or gpus if split else gpus
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        model=fields.text("model"),
        engine=_engine(framework),
        engine_version=_version(fields.text("image")),
        weight_precision=_precision(fields),
        gpu=(fields.text("hw") or "").split("-")[0] or None,
        gpus=gpus,
        tp=None if split else tp,
        ep=None if split else fields.count("ep"),
        dp=tp if not split and _true(fields, "dp_attention") else None,
        mode="fixed_concurrency",
        concurrency=fields.number("conc"),
        isl_mean=isl * MEAN_LENGTH_SHARE if isl else None,
        osl_mean=osl * MEAN_LENGTH_SHARE if osl else None,
        ttft_ms=flat_stats(fields, "ttft", "{}_ttft", scale=MS_PER_S),
        tpot_ms=flat_stats(fields, "tpot", "{}_tpot", scale=MS_PER_S),
        itl_ms=flat_stats(fields, "itl", "{}_itl", scale=MS_PER_S),
        e2e_ms=flat_stats(fields, "e2el", "{}_e2el", scale=MS_PER_S),
        output_tokens_per_s=output * output_gpus if output else None,
        total_tokens_per_s=total * gpus if total else None,
        notes=_notes(fields, prefill, decode),
    )


def _engine(framework: str) -> str | None:
    """ "dynamo-trt" is TensorRT-LLM under the Dynamo orchestrator."""
    lower = framework.lower()
    orchestrated = lower.startswith("dynamo-")
    engine = engine_of(lower.removeprefix("dynamo-")) or lower.removeprefix("dynamo-") or None
    return f"dynamo-{engine}" if orchestrated and engine else engine


def _precision(fields: Fields) -> str | None:
    """ "fp4" names no format: gpt-oss ships MXFP4, AMD runs MXFP4, NVIDIA quantises the others to NVFP4."""
    stated = fields.text("precision")
    if stated is None or stated.lower() != "fp4":
        return stated
    amd = (fields.text("hw") or "").lower().startswith("mi")
    return "mxfp4" if amd or "gpt-oss" in (fields.text("model") or "").lower() else "nvfp4"


def _version(image: str | None) -> str | None:
    """The tag of the container image."""
    tag = (image or "").rpartition("/")[2].partition(":")[2]
    return tag.removeprefix("v") or None


def _true(fields: Fields, key: str) -> bool:
    value = fields.values.get(key)
    return value is True or (isinstance(value, str) and value.lower() == "true")


def _notes(fields: Fields, prefill: int | None, decode: int | None) -> tuple[str, ...]:
    notes = []
    drafting = fields.text("spec_decoding", "mtp")
    if drafting and drafting.lower() not in ("none", "off", "false"):
        notes.append(f"speculative decoding was on ({drafting})")
    if prefill:
        notes.append(f"prefill on {prefill} GPUs, decode on {decode or 0}: not one in-flight batch")
    elif _true(fields, "disagg"):
        notes.append("prefill and decode were split; the file does not say over how many GPUs each")
    return tuple(notes)
