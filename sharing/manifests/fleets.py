"""A mixed fleet: the facts of each fleet, what sends requests to them, and README.md of the whole.

Every fleet is deployed as a plan of its own, under a name of its own. Prompts are told apart by LiteLLM: its pre-call
checks take out the deployments whose ``max_input_tokens`` a prompt exceeds, and of what is left the lowest ``order``
serves (docs.litellm.ai, "How a deployment is picked", 2026-11-05; litellm 1.110.2, router_rust/steps/precall.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sharing.manifests.balancer import API
from sharing.manifests.checkpoint import BY_PATH, FILL_IN
from sharing.manifests.facts import LONGEST_NAME, ManifestFacts, facts_of
from sharing.manifests.kubernetes import refuses as no_service
from sharing.manifests.pods import PORT
from sharing.manifests.readme import answer as answered
from sharing.manifests.readme import table
from sharing.manifests.targets import Document, Yaml
from sizing.base.format import count, percent
from sizing.base.markdown import as_line
from sizing.base.mixed import FleetPart, MixedFleet
from sizing.mixed.text import prompts
from sizing.planning.answered import Answer
from sizing.queueing.balancing import balanced

ROUTER = "router-litellm.yaml"


def prefix(number: int) -> str:
    """What the names of the files of a fleet begin with."""
    return f"fleet-{number}-"


def facts_of_fleets(answer: Answer) -> tuple[ManifestFacts, ...]:
    """The facts of each fleet of a mix, in the order of their prompts, with names of their own.

    The name that a model is served as is one of them, by which metrics are told apart; an engine that serves a model
    by the name of its checkpoint keeps it.
    """
    whole = facts_of(answer)
    return tuple(_named(facts_of(part), whole, number) for number, part in enumerate(answer.fleets, start=1))


def _named(facts: ManifestFacts, whole: ManifestFacts, number: int) -> ManifestFacts:
    end = f"-fleet-{number}"
    checkpoint = facts.checkpoint
    if facts.engine.id not in BY_PATH:
        checkpoint = replace(checkpoint, served_as=f"{checkpoint.served_as}{end}")
    name = f"{whole.name[: LONGEST_NAME - len(end)].rstrip('-')}{end}"
    return replace(facts, name=name, title=f"{whole.title}, fleet {number}", checkpoint=checkpoint)


def router(answer: Answer, fleets: Sequence[ManifestFacts]) -> Yaml:
    """The configuration of LiteLLM in front of the Services of all fleets, for clients that know one model."""
    mixed, called = _mixed(answer), facts_of(answer).checkpoint.served_as
    by_prompt = any(part.ranges for part in mixed.parts)
    weights = balanced([part.rps for part in mixed.parts]).weights
    deployments = [
        _deployment(called, facts, {"order": number} if by_prompt else {"weight": weight}, part)
        for number, (facts, part, weight) in enumerate(zip(fleets, mixed.parts, weights, strict=True), start=1)
    ]
    settings = {"routing_strategy": "simple-shuffle", "enable_pre_call_checks": by_prompt}
    return Yaml(({"model_list": deployments, "router_settings": settings},))


def _deployment(called: str, facts: ManifestFacts, picked: Mapping[str, int], part: FleetPart) -> Document:
    """One fleet as LiteLLM knows it; the longest prompt that it takes is one token below the next fleet's shortest."""
    below = part.ranges[-1].below_tokens if part.ranges else None
    one: dict[str, Any] = {
        "model_name": called,
        "litellm_params": {
            "model": f"openai/{facts.checkpoint.served_as}",
            "api_base": address(facts),
            "api_key": "none",
            **picked,
        },
    }
    return one if below is None else one | {"model_info": {"max_input_tokens": int(below) - 1}}


def address(facts: ManifestFacts) -> str:
    """Where a fleet answers: its Service in ``kubernetes.yaml``, else to be filled in."""
    host = FILL_IN if no_service(facts) else f"{facts.name}:{PORT}"
    return f"http://{host}{API.get(facts.engine.id, '/v1')}"


def _mixed(answer: Answer) -> MixedFleet:
    assert answer.plan.mixed is not None
    return answer.plan.mixed


def readme(answer: Answer, fleets: Sequence[ManifestFacts], written: Mapping[str, Sequence[str]]) -> str:
    """README.md of the whole; ``written`` has the files of each fleet by its name."""
    parts = [
        f"# {as_line(facts_of(answer).title)}: deployment manifests of a mixed fleet",
        answered(facts_of(answer)),
        "Every fleet is deployed by itself, from its own files; the README.md of each says what is to be filled in.",
        "## Fleets",
        table(("Fleet", "Requests", "GPUs", "Planned requests/s", "Files"), _rows(answer, fleets, written)),
        "## Routing",
        "\n".join(f"- {line}" for line in _routing(answer, fleets)),
    ]
    return "\n\n".join(parts) + "\n"


def _rows(
    answer: Answer, fleets: Sequence[ManifestFacts], written: Mapping[str, Sequence[str]]
) -> Iterator[Sequence[str]]:
    for facts, part in zip(fleets, _mixed(answer).parts, strict=True):
        share = f"{percent(part.share)} of requests"
        requests = f"prompts {prompts(part.ranges)} ({share})" if part.ranges else share
        files = ", ".join(f"`{name}`" for name in written[facts.name])
        yield facts.name, requests, f"{count(part.deployment.gpus)} x {facts.gpu.name}", f"{part.rps:.3g}", files


def _routing(answer: Answer, fleets: Sequence[ManifestFacts]) -> Iterator[str]:
    """What sends requests where, and what cannot."""
    mixed, each = _mixed(answer), [facts.checkpoint.served_as for facts in fleets]
    if any(part.ranges for part in mixed.parts):
        yield (
            f"`{ROUTER}`: the configuration of LiteLLM (1.110) in front of the Services. A prompt that is longer than "
            "a fleet takes goes to the next; tokens are counted by its own tokenizers: compare the shares of requests "
            "with those above, and move `max_input_tokens` where they differ."
        )
        yield (
            "No route of the Gateway API (`llm-d.yaml`, `kserve.yaml`) tells prompts apart by their length: LiteLLM "
            "stands in front, and each fleet's route needs a host name or path of its own."
        )
    else:
        yield f"`{ROUTER}`: LiteLLM (1.110) in front of the Services, each fleet with its share of requests as weight."
        yield "Routes of the Gateway API (`llm-d.yaml`, `kserve.yaml`) need a host name or path of each fleet's own."
    if any(FILL_IN in address(facts) for facts in fleets):
        yield f"Everything that says `{FILL_IN}` in it: the address of a fleet that `kubernetes.yaml` cannot express."
    if len(set(each)) < len(each):
        yield (
            "TensorRT-LLM serves a model by the name of its checkpoint: where fleets share one, rules and dashboards "
            "count all of them unless a label of the scrape (job, namespace) is added to their selectors."
        )
    if mixed.apart is not None:
        yield (
            "Prefill and decode on two GPU types, which the plan names beside, have no files here: what is deployed "
            "are the fleets, which cost less."
        )
