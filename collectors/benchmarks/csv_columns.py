"""The own CSV in facts: every column with its unit and meaning, a template, and what happens to the rest.

The importer reads these columns, ``docs/BENCHMARK_CSV.md`` and the Benchmarks page are made from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from commandline.percentiles import key_of, stated_by

ColumnGroup = Literal["needed", "load", "system", "latency", "measured"]
"""What a column says: what every row needs, what one mode needs, what ran, how long it took, what else was measured."""


@dataclass(frozen=True, kw_only=True)
class CsvColumn:
    """One column; ``unit`` is "" for names and dates, ``meaning`` Markdown, "" where the name says it."""

    name: str
    unit: str
    meaning: str
    group: ColumnGroup


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """A part of the description, in Markdown; ``title`` is "" for the introduction."""

    title: str
    text: str


STATISTICS = ("mean", *map(key_of, stated_by("benchmark")))
LATENCIES = {
    "ttft": "from sending to the first token",
    "tpot": "per request: (E2E - TTFT) / (OSL - 1)",
    "itl": "gap between two pieces of an answer, over all requests",
    "e2e": "from sending to the last token",
}
"""Latency to what it means; each has a column per statistic."""


def latency_column(metric: str, statistic: str) -> str:
    """The name of a column of a latency."""
    return f"{metric}_ms_{statistic}"


def _columns(group: ColumnGroup, *rows: tuple[str, str, str]) -> tuple[CsvColumn, ...]:
    return tuple(CsvColumn(name=name, unit=unit, meaning=meaning, group=group) for name, unit, meaning in rows)


_MODES = (
    "`fixed_concurrency` (closed loop: a new request when one ends), `fixed_rate` (open loop: requests arrive at a "
    "rate, whatever happens) or `offline` (everything sent at once)"
)
COLUMNS = (
    *_columns(
        "system",
        ("model", "", "Hugging Face id"),
        ("engine", "", "`vllm`, `sglang`, `trtllm`, ..."),
        ("engine_version", "", ""),
        ("weight_precision", "", "`bf16`, `fp8`, `nvfp4`, `int4_awq`, ..."),
        ("kv_precision", "", "`fp16`, `fp8`"),
        ("gpu", "", "name or id"),
        ("gpus", "GPUs", "all that served the load, replicas together"),
        ("tp", "GPUs", "tensor parallelism"),
        ("pp", "GPUs", "pipeline parallelism"),
        ("ep", "GPUs", "expert parallelism"),
        ("dp", "ranks", "data parallelism"),
    ),
    *_columns(
        "needed",
        ("isl_tokens", "tokens", "mean number of tokens sent per request, everything counted"),
        ("osl_tokens", "tokens", "mean number of tokens generated per request"),
    ),
    *_columns("system", ("prefix_cached_tokens", "tokens", "mean per request that the prefix cache held")),
    *_columns("needed", ("mode", "", _MODES)),
    *_columns(
        "load",
        ("concurrency", "requests", "kept in flight; needed with `fixed_concurrency`"),
        ("request_rate_rps", "requests/s", "asked for, not served; needed with `fixed_rate`"),
    ),
    *_columns(
        "measured",
        ("duration_s", "s", "of the run"),
        ("requests_completed", "requests", "a run of so many is answered from its start to its end"),
        ("requests_failed", "requests", ""),
    ),
    *_columns(
        "latency",
        *((latency_column(metric, s), "ms", meaning) for metric, meaning in LATENCIES.items() for s in STATISTICS),
    ),
    *_columns(
        "measured",
        ("output_tokens_per_s", "tokens/s", "generated, by the whole system"),
        ("total_tokens_per_s", "tokens/s", "sent and generated together"),
        ("requests_per_s", "requests/s", "completed"),
        ("tool", "", "what measured it"),
        ("tool_version", "", ""),
        ("when", "", "date, or date and time, ISO 8601; UTC where no zone is given"),
        ("notes", "", "shown beside the row"),
    ),
)
"""Every column, in the order in which runs are written."""

TEMPLATE = """\
model,engine,engine_version,weight_precision,gpu,gpus,tp,isl_tokens,osl_tokens,mode,concurrency,request_rate_rps,\
ttft_ms_p50,tpot_ms_mean,output_tokens_per_s
meta-llama/Llama-3.1-8B-Instruct,vllm,0.11.2,fp8,H100 SXM,1,1,1024,256,fixed_concurrency,16,,61,7.4,1980
meta-llama/Llama-3.1-8B-Instruct,vllm,0.11.2,fp8,H100 SXM,1,1,1024,256,fixed_rate,,8,74,9.1,2010
"""
"""The most useful columns with two rows to overwrite."""

_INTRODUCTION = f"""\
For results of a tool that the Benchmarks import does not read itself: one run at one load per row, UTF-8, a header
line, comma, semicolon or tab between the cells, a point as decimal sign and no separator between thousands. Columns
may stand in any order; all but the three needed ones may be left out or empty. An empty cell means "not known", never
zero.

```csv
{TEMPLATE}```"""

_REST = """\
- A row with a cell that is not a number, negative or not finite, or with percentiles that decrease, is left out
  with a message that names its line; the other rows are kept.
- So is a row with more cells than the header (a comma inside a cell: put the cell in double quotes), and one whose
  TP x PP is more than its GPUs.
- Compared are mean ITL, TTFT (mean in a closed loop; median and p99 at a request rate) and output tokens/s. Only
  the p99 calibrates nothing. Other percentiles are shown with the run.
- A row that repeats another in every number, as when the same file is dropped twice, counts once.
- A model, GPU, engine or number format that is not in the catalogue is asked for on the page; nothing is put in
  its place.
- A column that is not known is left out with a note.
- The names of the evidence library are understood too: `isl`, `osl`, `concurrency_or_batch`,
  `offline_max_throughput`."""


def chapters() -> tuple[Chapter, ...]:
    """The description of the own CSV."""
    needed = f"{_table('needed', 'load')}\n\nAt least one latency or throughput has to be stated as well."
    return (
        Chapter(title="", text=_INTRODUCTION),
        Chapter(title="Needed", text=needed),
        Chapter(title="System", text=_table("system")),
        Chapter(title="Measured", text=f"{_latencies()}\n\n{_table('measured')}"),
        Chapter(title="What happens to the rest", text=_REST),
    )


def document() -> str:
    """The text of ``docs/BENCHMARK_CSV.md``."""
    parts = (f"## {chapter.title}\n\n{chapter.text}" if chapter.title else chapter.text for chapter in chapters())
    return "\n\n".join(["# Benchmark results as CSV", *parts]) + "\n"


def _table(*groups: ColumnGroup) -> str:
    rows = [(f"`{column.name}`", column.unit, column.meaning) for column in COLUMNS if column.group in groups]
    return _markdown(("column", "unit", "meaning"), rows)


def _latencies() -> str:
    """One line per latency, its columns together."""
    names = [f"`{metric}`" for metric in LATENCIES]
    endings = [f"`{latency_column('', statistic)}`" for statistic in STATISTICS]
    rows = [
        (", ".join(f"`{latency_column(metric, statistic)}`" for statistic in STATISTICS), meaning)
        for metric, meaning in LATENCIES.items()
    ]
    each = f"{_and(names)}, each with {_and(endings)}, in milliseconds:"
    return f"{each}\n\n{_markdown(('columns', 'meaning'), rows)}"


def _and(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])
