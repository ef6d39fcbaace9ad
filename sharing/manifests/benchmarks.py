"""Commands of load generators that would prove the plan: its lengths, its rate, its limits."""

import math
import shlex
from collections.abc import Mapping

from sharing.manifests.arguments import Options, compact, flattened
from sharing.manifests.facts import ManifestFacts
from sharing.manifests.targets import File, ManifestTarget, TargetReason, TextFile
from sizing.base.units import MS_PER_S

LASTS_S = 600
FEWEST, MOST = 200, 50_000
"""Requests of a run: ten minutes of the planned load. Chosen: enough for a 99th percentile, never hours."""

WIDEST = 0.99
"""Half of the width of a uniform distribution over its mean, which vLLM takes below 1."""

URL = "URL-OF-THE-SERVER"
"""Stands in an argument for the shell's variable."""


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """None: every plan can be measured, whatever it runs on."""
    return None


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """A shell script that runs the tool it is asked for, and no other: two at once would measure each other's load."""
    tools = {"vllm": vllm_bench(facts), "guidellm": guidellm(facts), "aiperf": aiperf(facts)}
    names = "|".join(tools)
    lines = [
        "#!/usr/bin/env bash",
        f"# Usage: URL=http://localhost:8000 bash benchmarks.sh {names}",
        "# Sends the planned load with one tool and measures what the plan promises; wait for its end before the next.",
        "# Import the result on the page Benchmarks to see it beside the plan.",
        "set -euo pipefail",
        'URL="${URL:-http://localhost:8000}"',
        'case "${1:-}" in',
    ]
    for name, command in tools.items():
        lines += [f"{name})", " ".join(map(quoted, command)), ";;"]
    lines += ["*)", f'echo "Usage: bash benchmarks.sh {names}" >&2', "exit 2", ";;", "esac"]
    return {"benchmarks.sh": TextFile("\n".join(lines) + "\n")}


def quoted(argument: str) -> str:
    """An argument as a shell reads it, with the variable where the address stands."""
    return '"$URL"'.join(shlex.quote(part) if part or URL not in argument else "" for part in argument.split(URL))


def requests(facts: ManifestFacts) -> int:
    """How many requests a run sends."""
    return min(max(math.ceil(facts.requests_per_s * LASTS_S), FEWEST), MOST)


def tokens(facts: ManifestFacts) -> tuple[int, int, int]:
    """Tokens of the prompt that differ, of its part that is alike, and of the answer."""
    alike = round(facts.lengths.cached_tokens)
    return max(round(facts.lengths.input_tokens) - alike, 1), alike, max(round(facts.lengths.output_tokens), 1)


def deviations(facts: ManifestFacts) -> tuple[int, int]:
    """Standard deviations of the prompt's part that differs and of the answer, in tokens."""
    different, _, answer = tokens(facts)
    return round(different * facts.prompt_variation), round(answer * facts.answer_variation)


def limits_ms(facts: ManifestFacts) -> dict[str, float]:
    """The limits that apply, by their names here."""
    seconds = {"ttft": facts.limits.ttft_s, "itl": facts.limits.itl_s, "e2e": facts.limits.e2e_s}
    return {name: round(value * MS_PER_S, 3) for name, value in seconds.items() if math.isfinite(value)}


def vllm_bench(facts: ManifestFacts) -> list[str]:
    """``vllm bench serve``, whose lengths are uniform around their mean: as wide as those of the plan vary."""
    different, alike, answer = tokens(facts)
    names = {"ttft": "ttft", "itl": "tpot", "e2e": "e2el"}
    percentiles = dict.fromkeys((50.0, 95.0, 99.0, facts.limits.percentile))
    options: Options = {
        "--base-url": URL,
        "--model": facts.checkpoint.served_as,
        "--tokenizer": facts.checkpoint.name,
        "--dataset-name": "random",
        "--random-input-len": different,
        "--random-prefix-len": alike,
        "--random-output-len": answer,
        "--random-range-ratio": compact(
            {"input": half_width(facts.prompt_variation), "output": half_width(facts.answer_variation)}
        ),
        "--ignore-eos": True,
        "--request-rate": f"{facts.requests_per_s:.6g}",
        "--burstiness": f"{facts.burstiness:.6g}",
        "--num-prompts": requests(facts),
        "--percentile-metrics": "ttft,tpot,itl,e2el",
        "--metric-percentiles": ",".join(f"{p:g}" for p in percentiles),
        "--save-result": True,
    }
    wanted = [f"{names[name]}:{value:g}" for name, value in limits_ms(facts).items()]
    return ["vllm", "bench", "serve", *flattened(options), *(["--goodput", *wanted] if wanted else [])]


def half_width(variation: float) -> float:
    """Of the uniform distribution with this coefficient of variation, over its mean: sqrt(3) as much."""
    return round(min(math.sqrt(3.0) * variation, WIDEST), 4)


def guidellm(facts: ManifestFacts) -> list[str]:
    """GuideLLM with Poisson arrivals."""
    different, alike, answer = tokens(facts)
    backend = {"kind": "openai_http", "target": URL, "model": facts.checkpoint.served_as}
    data: dict[str, object] = {"kind": "synthetic_text", "prompt_tokens": different, "output_tokens": answer}
    for name, deviation in zip(("prompt", "output"), deviations(facts), strict=True):
        if deviation:
            data[f"{name}_tokens_stdev"] = deviation
    if alike:
        data["prefix_buckets"] = [{"prefix_tokens": alike}]
    options: Options = {
        "--backend": compact(backend),
        "--profile": f"kind=poisson,rate={facts.requests_per_s:.6g}",
        "--constraint": f"kind=max_requests,count={requests(facts)}",
        "--data": compact(data),
    }
    return ["guidellm", "run", *flattened(options)]


def aiperf(facts: ManifestFacts) -> list[str]:
    """AIPerf with Poisson arrivals."""
    different, alike, answer = tokens(facts)
    options: dict[str, str | int | float | bool] = {
        "--url": URL,
        "--model": facts.checkpoint.served_as,
        "--tokenizer": facts.checkpoint.name,
        "--endpoint-type": "chat",
        "--streaming": True,
        "--isl": different,
        "--osl": answer,
        "--extra-inputs": "ignore_eos:true",
        "--arrival-pattern": "poisson",
        "--request-rate": f"{facts.requests_per_s:.6g}",
        "--request-count": requests(facts),
    }
    for name, deviation in zip(("isl", "osl"), deviations(facts), strict=True):
        if deviation:
            options[f"--{name}-stddev"] = deviation
    if alike:
        options["--shared-system-prompt-length"] = alike
    names = {"ttft": "time_to_first_token", "itl": "inter_token_latency", "e2e": "request_latency"}
    if wanted := " ".join(f"{names[name]}:{value:g}" for name, value in limits_ms(facts).items()):
        options["--goodput"] = wanted
    return ["aiperf", "profile", *flattened(options)]


TARGET = ManifestTarget("benchmarks", refuses, files)
