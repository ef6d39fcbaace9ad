"""All files of a plan: every target that can express it, and what was left out with its reason."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import yaml

from sharing.manifests import (
    balancer,
    benchmarks,
    compose,
    dashboard,
    dynamo,
    fleets,
    keda,
    kserve,
    kubernetes,
    llm_d,
    nim,
    objectives,
    production_stack,
    triton,
)
from sharing.manifests.facts import ManifestFacts, facts_of
from sharing.manifests.readme import readme
from sharing.manifests.targets import File, Json, ManifestTarget, TargetReason, Yaml
from sizing.base.result import Plan
from sizing.planning.answered import Answer

TARGETS: tuple[ManifestTarget, ...] = (
    kubernetes.TARGET,
    production_stack.TARGET,
    kserve.TARGET,
    llm_d.TARGET,
    dynamo.TARGET,
    dynamo.REQUEST,
    nim.TARGET,
    triton.TARGET,
    compose.TARGET,
    balancer.TARGET,
    keda.TARGET,
    objectives.RULES,
    objectives.PYRRA,
    dashboard.TARGET,
    benchmarks.TARGET,
)
README, INDEX = "README.md", "index.json"


class _Dumper(yaml.SafeDumper):
    """Writes a part that stands in several places in each of them, since aliases are hard to read."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def manifests(answer: Answer) -> dict[str, str]:
    """Content by file name: the manifests, README.md, and index.json with the sums of all of them; of a mixed fleet
    that is cheaper than the plan those of each fleet, and the router in front of them; of prefill and decode on two GPU
    types where these are advised.

    Same inputs, same bytes. Raises NothingToDeploy where the plan deploys nothing.
    """
    contents = _of_fleets(answer) if answer.fleets else _of_one(facts_of(answer.pools or answer))
    return contents | {INDEX: index(answer.plan, contents)}


def _of_one(facts: ManifestFacts, prefix: str = "") -> dict[str, str]:
    """The files of one fleet, whose names begin with ``prefix``."""
    left_out = refused(facts)
    files = {target.id: target.files(facts) for target in TARGETS if target not in left_out}
    contents = {f"{prefix}{name}": rendered(file) for own in files.values() for name, file in own.items()}
    written = {target: [f"{prefix}{name}" for name in own] for target, own in files.items()}
    return contents | {f"{prefix}{README}": readme(facts, written, left_out)}


def _of_fleets(answer: Answer) -> dict[str, str]:
    """The files of every fleet of a mix, the router in front of them, and README.md of the whole."""
    each = fleets.facts_of_fleets(answer)
    own = {facts.name: _of_one(facts, fleets.prefix(number)) for number, facts in enumerate(each, start=1)}
    contents = {name: text for files in own.values() for name, text in files.items()}
    contents[fleets.ROUTER] = rendered(fleets.router(answer, each))
    written = {name: list(files) for name, files in own.items()}
    return contents | {README: fleets.readme(answer, each, written)}


def refused(facts: ManifestFacts) -> dict[ManifestTarget, TargetReason]:
    """The targets that cannot express the deployment, each with its reason."""
    reasons = ((target, target.refuses(facts)) for target in TARGETS)
    return {target: reason for target, reason in reasons if reason is not None}


def rendered(file: File) -> str:
    """A file as text."""
    if isinstance(file, Yaml):
        return yaml.dump_all(file.documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return json.dumps(file.document, indent=2) + "\n" if isinstance(file, Json) else file.text


def index(plan: Plan, contents: Mapping[str, str]) -> str:
    """Which files were written by what, by which a later export knows its own."""
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(contents.items())}
    written_by = {"engine_version": plan.engine_version, "data_version": plan.data_version}
    return json.dumps({**written_by, "sha256": sums}, indent=2) + "\n"
