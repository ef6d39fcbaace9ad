"""NVIDIA NIM beside the open-source engine inside it, for one scenario: what both need, and what the licence adds."""

from functools import cache
from typing import Annotated, Any, Literal, get_args

from sizing.base.quantity import Result, quantity
from sizing.catalog.engines import engines
from sizing.catalog.files import read_yaml
from sizing.decision.formats import difference, refuse_measured
from sizing.decision.keys import with_values
from sizing.decision.outcome import NOTHING, Answers, Outcome
from sizing.question.understand import model_of
from sizing.scenario.schema import Scenario

ENGINE = "nim"
FILE = "nim.yaml"

NimTopic = Literal["deploy", "licence", "support", "measured"]
NimProfile = Literal["listed", "other_layout", "other_format", "other_gpu", "not_read", "not_planned"]
"""listed: a profile has the planned format and layout; other_*: profiles of the model have another one, or are verified
on other GPUs; not_read: no matrix that was read lists the model; not_planned: NIM serves nothing within the limits."""


class NimFact(Result):
    """What is told of both on one topic."""

    topic: Annotated[NimTopic, quantity("Topic", help="deploy, licence, support or measured.")]
    nim: Annotated[str, quantity("NIM", help="As the source says it.")]
    open_source: Annotated[str, quantity("Open source", help="As the source says it.")]
    source: Annotated[str, quantity("Source", help="Where it stands.")]
    date: Annotated[str, quantity("Date", help="Of the source.")]


class NimComparison(Result):
    """A scenario with NIM, under its licence, and with the engine inside it, without one."""

    version: Annotated[str, quantity("Version of NIM", help="Of the catalogue.")]
    inside: Annotated[str, quantity("Engine inside", help="Its catalogue id: step times and scheduler are its own.")]
    inside_version: Annotated[str, quantity("Version inside", help="Of the engine that NIM bundles.")]
    newest: Annotated[str, quantity("Version by itself", help="Of the engine as its project releases it.")]
    nim: Annotated[
        Outcome,
        quantity(
            "Planned with NIM", help="With NIM and its licence; as sure of it as of any, of which less is measured."
        ),
    ]
    licensed: Annotated[
        Outcome, quantity("The same under the licence", help="The deployment of the engine, with NVIDIA AI Enterprise.")
    ]
    open_source: Annotated[Outcome, quantity("With the engine", help="The scenario with the engine, no licence.")]
    in_its_format: Annotated[
        int | None,
        quantity(
            "GPUs of the engine in NIM's format",
            "GPUs",
            "plan of the engine in the weight format planned with NIM",
            "What of the difference is the format. None where nothing serves, or both need as many.",
        ),
    ]
    without_drafts: Annotated[
        int | None,
        quantity(
            "The same without drafts",
            "GPUs",
            "that plan without speculative decoding, where NIM is planned without",
            "What of the difference are drafts; the rest is that less of NIM is measured.",
        ),
    ]
    usd_more: Annotated[
        float | None,
        quantity(
            "NIM costs more",
            "USD/month",
            "the same under the licence - with the engine",
            "None where one is not known.",
        ),
    ]
    profile: Annotated[NimProfile, quantity("Profile", help="Whether a listed profile has what is planned.")]
    profiles: Annotated[tuple[str, ...], quantity("Profiles", help="Listed ones of the model: format and layout.")]
    profile_source: Annotated[
        str, quantity("Source of the profiles", help="Support matrix; empty where none was read.")
    ]
    facts: Annotated[tuple[NimFact, ...], quantity("Facts", help="What is told of both.")]


@cache
def _read() -> dict[str, Any]:
    read: dict[str, Any] = read_yaml(FILE)
    return read


def nim_beside_open_source(scenario: Scenario, answers: Answers) -> NimComparison:
    """The scenario with NIM and with the engine inside it. Raises InvalidScenario for unknown names, and for a measured
    record, which holds for its own engine alone."""
    refuse_measured(scenario)
    nim = engines()[ENGINE]
    planned = _outcome(scenario, ENGINE, "nvidia_ai_enterprise", answers)
    free = _outcome(scenario, nim.built_on, "none", answers)
    runs = planned.feasible and free.feasible
    licensed = _outcome(scenario, nim.built_on, "nvidia_ai_enterprise", answers) if runs else NOTHING
    in_its_format, without_drafts = _as_planned_with_nim(scenario, planned, free, answers) if runs else (None, None)
    profile, profiles, source = _profiles(scenario, planned, answers)
    return NimComparison(
        version=nim.version,
        inside=nim.built_on,
        inside_version=nim.built_on_since[-1][1],
        newest=engines()[nim.built_on].version,
        nim=planned,
        licensed=licensed,
        open_source=free,
        in_its_format=in_its_format,
        without_drafts=without_drafts,
        usd_more=difference(licensed.usd_per_month, free.usd_per_month),
        profile=profile,
        profiles=profiles,
        profile_source=source,
        facts=tuple(_fact(topic) for topic in get_args(NimTopic)),
    )


def _scenario(scenario: Scenario, engine: str, licence: str) -> Scenario | None:
    return with_values(scenario, {"deployment.engines": [engine], "costs.licence": licence})


def _outcome(scenario: Scenario, engine: str, licence: str, answers: Answers) -> Outcome:
    changed = _scenario(scenario, engine, licence)
    return NOTHING if changed is None else answers.outcome(changed)


def _as_planned_with_nim(
    scenario: Scenario, planned: Outcome, free: Outcome, answers: Answers
) -> tuple[int | None, int | None]:
    """GPUs of the engine in the format that is planned with NIM, and then without drafts where NIM has none, where the
    two plans need other numbers."""
    ours, theirs = (_scenario(scenario, name, "none") for name in (engines()[ENGINE].built_on, ENGINE))
    if planned.gpus == free.gpus or ours is None or theirs is None:
        return None, None
    alike = with_values(ours, {"deployment.precisions": [planned.precision]})
    if alike is None:
        return None, None
    deployed, drafting = (answers.answer(one).plan.deployment for one in (theirs, alike))
    bare = alike
    if drafting is not None and drafting.speculation and deployed is not None and not deployed.speculation:
        bare = with_values(alike, {"deployment.speculation": "off"}) or alike
    return answers.outcome(alike).gpus, answers.outcome(bare).gpus


def _profiles(scenario: Scenario, outcome: Outcome, answers: Answers) -> tuple[NimProfile, tuple[str, ...], str]:
    """Whether a listed profile has what is planned with NIM, those listed of the model, and where."""
    listed = _read()["profiles"].get(model_of(scenario).id)
    if listed is None:
        return "not_read", (), ""
    names = tuple(f"{form} TP{tp}" for form, degrees in listed["formats"].items() for tp in degrees)
    source = f"{listed['source']}, {listed['date']}"
    changed = _scenario(scenario, ENGINE, "none")
    deployed = None if changed is None or not outcome.feasible else answers.answer(changed).plan.deployment
    if deployed is None:
        return "not_planned", names, source
    return _standing(listed, deployed.weight_precision, deployed.tp, deployed.pp, deployed.gpu), names, source


def _standing(listed: dict[str, Any], precision: str, tp: int, pp: int, gpu: str) -> NimProfile:
    """What of the planned format, layout and GPU the listed profiles lack first."""
    degrees = listed["formats"].get(precision)
    if degrees is None:
        return "other_format"
    if tp not in degrees or pp > 1:
        return "other_layout"
    verified = listed.get("gpus", ())
    return "listed" if not verified or gpu in verified else "other_gpu"


def _fact(topic: NimTopic) -> NimFact:
    read = _read()["facts"][topic]
    return NimFact(
        topic=topic, nim=read["nim"], open_source=read["open_source"], source=read["source"], date=str(read["date"])
    )
