"""The commands of manifests as an engine reads them: its list of arguments, and what it refuses when it starts."""

import argparse
import csv
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import yaml

from sharing.manifests.facts import ManifestFacts
from tests.sharing.manifests.validation import LOADER

LISTS = Path(__file__).parent / "arguments"
DYNAMO = {"vllm": ("dynamo-vllm-1.6.1", "vllm-engine-0.31.0"), "sglang": ("dynamo-sglang-1.6.1", "sglang-0.5.21")}
SERVERS = {"vllm": "vllm-0.33.0", "sglang": "sglang-0.5.23", "trtllm": "trtllm-serve-00209af"} | {
    "llamacpp": "llama-server-b7100",
    "openvino": "ovms-2025.4",
}
KUBERNETES_VARIABLES = {"$(LWS_WORKER_INDEX)": "0", "$(LWS_LEADER_ADDRESS)": "leader"}
VLLM_METHODS = {"mtp", "eagle3", "dspark", "draft_model"}
"""Methods of drafting (vLLM 0.33.0, config/speculative.py: SpeculativeMethod) that a plan can have."""


class Refused(AssertionError):
    """An engine would not start with these arguments."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)


TYPES: Mapping[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str, "json": json.loads}


@cache
def parser(*names: str) -> Parser:
    """The parser of one list, or of several that a server puts together, the first of which decides."""
    made, seen = Parser(add_help=False, allow_abbrev=False), set[str]()
    for name in names:
        with (LISTS / f"{name}.csv").open() as file:
            for row in csv.DictReader(file):
                options = [option for option in row["options"].split() if option not in seen]
                seen.update(options)
                if not options:
                    continue
                if row["takes"] == "flag":
                    made.add_argument(*options, action="store_true", default=None)
                    continue
                count = {"one": None, "optional": "?", "many": "+"}[row["takes"]]
                as_type = TYPES[row["type"]]
                choices = [as_type(one) for one in row["choices"].split()] or None
                made.add_argument(*options, type=as_type, choices=choices, nargs=count)
    return made


def read(arguments: Sequence[str], *lists: str) -> dict[str, Any]:
    """The options that are given, by their longest names. Raises Refused for one that the server does not know."""
    given = [KUBERNETES_VARIABLES.get(one, one) for one in arguments]
    known = parser(*lists)
    namespace = vars(known.parse_args(given))
    names = {action.dest: max(action.option_strings, key=len) for action in known._actions}
    return {names[dest]: value for dest, value in namespace.items() if value is not None}


def commands(contents: Mapping[str, str], engine: str) -> Iterator[tuple[str, tuple[str, ...], list[str], int | None]]:
    """Every command of a server: its file, the lists that it is read with, its arguments, and the GPUs of its pod, None
    where that is not said beside it."""
    for file in ("kubernetes.yaml", "llm-d.yaml", "kserve.yaml", "nim.yaml", "dynamo.yaml"):
        for one in yaml.load_all(contents.get(file, ""), LOADER):
            for container in containers(one):
                yield from command_of(file, container, engine)
    for one in yaml.load_all(contents.get("compose.yaml", ""), LOADER):
        for service in one["services"].values():
            yield "compose.yaml", (SERVERS[engine],), arguments_of(service["command"]), None
    for one in yaml.load_all(contents.get("production-stack-values.yaml", ""), LOADER):
        for model in one["servingEngineSpec"]["modelSpec"]:
            yield "production-stack-values.yaml", (SERVERS["vllm"],), model["vllmConfig"]["extraArgs"], None


def containers(value: Any) -> Iterator[dict[str, Any]]:
    """Everything that has an image or an environment, wherever it stands in an object."""
    if isinstance(value, list):
        for one in value:
            yield from containers(one)
    elif isinstance(value, dict):
        if "resources" in value and ("env" in value or "command" in value):
            yield value
        if {"args", "command"} <= value.keys() and "resources" not in value:
            yield value
        for one in value.values():
            yield from containers(one)


def command_of(
    file: str, container: dict[str, Any], engine: str
) -> Iterator[tuple[str, tuple[str, ...], list[str], int | None]]:
    """The server that a container starts."""
    gpus = sum(int(v) for k, v in container.get("resources", {}).get("limits", {}).items() if k.endswith("/gpu"))
    variables = {one["name"]: one.get("value", "") for one in container.get("env", ())}
    for name, lists in (("NIM_PASSTHROUGH_ARGS", "vllm-engine-0.31.0"), ("VLLM_ADDITIONAL_ARGS", SERVERS["vllm"])):
        if name in variables:
            yield file, (lists,), shlex.split(variables[name]), gpus
    if file == "dynamo.yaml":
        frontend = "dynamo.frontend" in container["args"]
        lists_of = DYNAMO.get(engine, ("dynamo-trtllm-1.6.1",))
        given = container["args"][2:] if frontend else container["args"]
        yield file, ("dynamo-frontend-1.6.1",) if frontend else lists_of, given, None if frontend else gpus
    elif "command" in container:
        yield file, (SERVERS[engine],), arguments_of(container["command"]), gpus


def arguments_of(command: Sequence[str]) -> list[str]:
    """What stands behind the program, its subcommand and the model."""
    first = next(i for i, one in enumerate(command) if one.startswith("--"))
    return list(command[first:])


def check_start(facts: ManifestFacts, engine: str, given: Mapping[str, Any]) -> None:
    """Raises Refused where the engine would not start with options that it knows."""
    problems = {"vllm": _vllm, "nim": _vllm, "sglang": _sglang, "trtllm": _trtllm}[engine](facts, given)
    if found := list(problems):
        raise Refused("; ".join(found))


def _vllm(facts: ManifestFacts, given: Mapping[str, Any]) -> Iterator[str]:
    """vLLM 0.33.0, config: scheduler.py, parallel.py, model.py and speculative.py; v1/core/kv_cache_utils.py."""
    tp, dp = given.get("--tensor-parallel-size", 1), given.get("--data-parallel-size", 1)
    if given["--max-num-batched-tokens"] < given.get("--max-num-seqs", 1):
        yield "a step holds less tokens than sequences"
    yield from _context(facts, given.get("--max-model-len"))
    if facts.model.heads % tp:
        yield f"{facts.model.heads} heads are not divisible by TP {tp}"
    if "--enable-expert-parallel" in given and (not facts.model.experts or tp * dp == 1):
        yield "no experts to spread"
    if "--nnodes" in given and given.get("--distributed-executor-backend") != "mp":
        yield "several nodes need the executor mp"
    drafts = given.get("--speculative-config")
    if drafts and (drafts["method"] not in VLLM_METHODS or drafts["num_speculative_tokens"] < 1):
        yield f"it does not draft by {drafts['method']}"
    if drafts and drafts["method"] != "mtp" and "model" not in drafts:
        yield "no draft model"


def _sglang(facts: ManifestFacts, given: Mapping[str, Any]) -> Iterator[str]:
    """SGLang 0.5.23: arg_groups/parallel_hook.py and speculative_hook.py; 0.5.21 has the ranks under the older name."""
    tp = given.get("--tensor-parallel-size", 1)
    ranks = given.get("--attention-data-parallel-size", given.get("--data-parallel-size", given.get("--dp-size", 1)))
    experts = given.get("--expert-parallel-size", 1)
    yield from _context(facts, given["--context-length"])
    if tp % ranks or tp % experts:
        yield f"TP {tp} is not divisible by {ranks} ranks or EP {experts}"
    if facts.model.heads % (tp // ranks):
        yield f"{facts.model.heads} heads are not divisible by TP {tp // ranks}"
    if not 0 < given["--mem-fraction-static"] < 1:
        yield "no such share of memory"
    algorithm = given.get("--speculative-algorithm")
    if algorithm is None:
        return
    if algorithm not in ("EAGLE", "EAGLE3", "STANDALONE", "DSPARK"):
        yield f"it does not draft by {algorithm}"
    if algorithm != "EAGLE" and "--speculative-draft-model-path" not in given:
        yield "no draft model"
    if algorithm == "STANDALONE" and ranks > 1:
        yield "a draft model does not go with ranks"
    if given["--speculative-num-draft-tokens"] != given["--speculative-num-steps"] + 1:
        yield "a chain of drafts has a token more than steps"


def _trtllm(facts: ManifestFacts, given: Mapping[str, Any]) -> Iterator[str]:
    """TensorRT-LLM: commands/serve.py; Dynamo's worker spells the same options with dashes."""
    spelled = {name.replace("_", "-"): value for name, value in given.items()}
    yield from _context(facts, spelled["--max-seq-len"])
    if facts.model.heads % spelled.get("--tensor-parallel-size", 1):
        yield "heads are not divisible by TP"


def _context(facts: ManifestFacts, context: int | None) -> Iterator[str]:
    most, held = facts.model.max_context, facts.plan.per_instance.kv_tokens if facts.plan.per_instance else 0
    if context and most and context > most:
        yield f"a context of {context} tokens is longer than the model's {most}"
    if context and held and context > held:
        yield f"a context of {context} tokens does not fit into a KV cache of {held}"


def world(given: Mapping[str, Any]) -> int:
    """GPUs that the options of one instance spread it over, of whichever server."""
    spelled = {name.replace("_", "-"): value for name, value in given.items()}
    sizes = ("--tensor-parallel-size", "--pipeline-parallel-size")
    total = spelled.get(sizes[0], 1) * spelled.get(sizes[1], 1)
    vllm_ranks = spelled.get("--data-parallel-size", 1) if "--context-length" not in spelled else 1
    return int(total * vllm_ranks)
