"""docs/CHAIN.md from what was measured."""

from collections.abc import Mapping
from typing import Any

from tests.tools.chain.compare import Check, checks

INTRODUCTION = """# One run, measured three ways

Written by `make chain`, which serves a tiny model with a real vLLM on processors, sends it a load with vLLM's own
generator, and reads the engine through a real Prometheus with our collector. The three must agree on one window:
finished requests within 2 %, tokens exactly, mean TPOT and E2E within 7 %, each quantile in the bucket that holds it,
the engine's own histogram sums exactly. A quantile of the generator beside the edge of its bucket may lie over it by
the 7 % by which the clocks may differ; the table says so where one does. Any other difference ends `make chain` with
an error.

`make chain` needs Python 3.11 to 3.13, Prometheus (installed as `make test` does), 2.3 GB of disk in `.chain/` and,
with nothing installed yet, seven minutes on two cores, later three and a half. `PYTHON=python3.12 make chain` chooses
the Python.
"""


def report(measured: Mapping[str, Any]) -> str:
    """The page."""
    load, versions = measured["load"], measured["versions"]
    generator, collector, server = measured["generator"], measured["collector"], measured["server"]
    lines = [
        INTRODUCTION,
        f"Measured on {measured['date']} with vLLM {versions['vllm']} and Prometheus {versions['prometheus']} on "
        f"{measured['cores']} cores: {load['requests']} requests, {load['rps']:g} a second, about "
        f"{load['input_tokens']} tokens in and {load['output_tokens']} out; "
        f"scraped every {measured['interval_s']:g} s.",
        "",
        "| what | generator, or server | collector | must be | is |",
        "|---|--:|--:|---|---|",
        *(_line(check) for check in checks(generator, server, collector)),
        "",
        "Not compared, because they are different things: the generator counts a first token when it has it, the "
        "engine when it sends it. Generator and engine share the cores here, which makes the difference large.",
        "",
        "| TTFT | generator | collector |",
        "|---|--:|--:|",
        *(
            f"| {q} | {generator['ttft_ms'][q]:.4g} ms | {_with_interval(collector['ttft_ms'], q)} |"
            for q in ("mean", "p50", "p95", "p99")
        ),
        "",
        "`python -m collectors read` on the same Prometheus said right after the run: "
        f"state {measured['command_line']['state']}, engine {measured['command_line']['engine']}, "
        f"{measured['command_line']['replicas']:g} replica, mean TPOT {measured['command_line']['tpot_ms']:.4g} ms.",
        "",
        "The pages of the run are in `tests/collectors/recordings/chain/`; a test reads them again and must get "
        "the same numbers.",
        "",
    ]
    return "\n".join(lines)


def _line(check: Check) -> str:
    unit = f" {check.unit}" if check.unit else ""
    outcome = "yes" if check.ok else "**no**"
    return f"| {check.what} | {check.reference:.6g}{unit} | {check.collector:.6g}{unit} | {check.must} | {outcome} |"


def _with_interval(distribution: Mapping[str, float | None], q: str) -> str:
    value = distribution[q]
    if q == "mean":
        return f"{value:.4g} ms"
    high = distribution[f"{q}_high"]
    upper = "and more" if high is None else f"to {high:g}"
    return f"{value:.4g} ms (in {distribution[f'{q}_low']:g} {upper})"
