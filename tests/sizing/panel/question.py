"""One question of the panel: a scenario, the answers that an expert accepts, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sizing import Scenario
from tests.sizing.panel.answers import Answer
from tests.sizing.panel.support import generations

FOLDER = Path(__file__).parent / "questions"
NOTHING = "nothing"
"""Among the accepted answers: that nothing serves."""
BLACKWELL = frozenset({"sm100", "sm120"})
BEFORE_FP8 = frozenset({"turing", "ampere"})
Range = tuple[float, float]
ENGINES = frozenset({"vllm", "sglang", "trtllm", "nim"})
"""Engines that serve today; which of them has the model is a rule for every plan (:mod:`tests.sizing.panel.rules`)."""


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """Answers that are accepted: every field that is given has to hold. Ranges include both ends.

    ``bought``: GPUs in the systems that are bought or rented. ``instance``: GPUs of the largest instance. ``pp`` is 1
    unless a question says otherwise: within one system every model of the catalogue has a layout without a pipeline.
    ``providers``: who rents it, anybody where none is given.
    ``apart``: whether prefill and decode may run in instances of their own. ``narrow``: whether FP4 is accepted on GPUs
    that compute it in 16 bit; INT8 is, on those without FP8 alone. ``usd``: hardware, USD a month; ``power_kw``: all
    systems at their maximum, where it is known.
    """

    gpus: frozenset[str]
    formats: frozenset[str]
    engines: frozenset[str] = ENGINES
    providers: frozenset[str] = frozenset()
    bought: Range = (1, float("inf"))
    instance: Range = (1, float("inf"))
    tp: Range = (1, float("inf"))
    pp: Range = (1, 1)
    systems: Range = (1, float("inf"))
    usd: Range = (0, float("inf"))
    power_kw: Range = (0, float("inf"))
    apart: bool = False
    narrow: bool = False

    def refuses(self, answer: Answer) -> list[str]:
        """What of an answer is not accepted, in words; nothing where it is."""
        faults = [
            f"{name} {value} is none of {', '.join(sorted(allowed))}"
            for name, value, allowed in (
                ("GPU", answer.gpu, self.gpus),
                ("format", answer.weights, self.formats),
                ("engine", answer.engine, self.engines),
            )
            if value not in allowed
        ]
        if self.providers and answer.system.split()[0] not in self.providers:
            faults.append(f"{answer.system} is rented from none of {', '.join(sorted(self.providers))}")
        amounts: tuple[tuple[str, float, Range], ...] = (
            ("GPUs bought", answer.bought, self.bought),
            ("GPUs of an instance", answer.largest_instance, self.instance),
            ("TP", answer.tp, self.tp),
            ("PP", answer.pp, self.pp),
            ("systems", answer.systems, self.systems),
            ("USD a month", answer.usd or 0, self.usd),
            ("kW", answer.power_kw or self.power_kw[0], self.power_kw),
        )
        faults += [
            f"{name} {value:,.0f} is outside {low:,.0f} to {high:,.0f}"
            for name, value, (low, high) in amounts
            if not low <= value <= high
        ]
        if answer.apart and not self.apart:
            faults.append("prefill and decode run apart")
        if answer.weights == "nvfp4" and not self.narrow and generations()[answer.gpu] not in BLACKWELL:
            faults.append(f"NVFP4 on {answer.gpu}, which computes it in 16 bit")
        if answer.weights == "int8_sq" and generations()[answer.gpu] not in BEFORE_FP8:
            faults.append(f"INT8 on {answer.gpu}, which has FP8")
        return faults


@dataclass(frozen=True, kw_only=True)
class Question:
    """A scenario with the answers that are accepted."""

    name: str
    why: str
    scenario: Scenario
    accept: tuple[Accepted, ...]
    nothing: bool
    """Whether it is accepted that nothing serves."""
    says: frozenset[str] = frozenset()
    """Codes of warnings that an expert would not leave out."""

    def refuses(self, answer: Answer | None) -> list[str]:
        """Why an expert does not accept an answer; nothing where one of the accepted kinds fits."""
        if answer is None:
            return [] if self.nothing else ["nothing serves"]
        if not self.accept:
            return ["no answer is accepted: an expert says that this does not run"]
        unsaid = [f"nothing says {code}" for code in sorted(self.says - answer.warnings)]
        return min((accepted.refuses(answer) for accepted in self.accept), key=len) + unsaid


def _range(value: float | list[float]) -> Range:
    low, high = value if isinstance(value, list) else (value, value)
    return float(low), float(high)


def _names(value: str | list[str], groups: Mapping[str, list[str]]) -> frozenset[str]:
    """Names, those of groups replaced by what the groups hold, those after "not" taken away."""
    named = value.split() if isinstance(value, str) else value
    held: set[str] = set()
    for name in named:
        held |= set(groups.get(name, [name]))
    return frozenset(held)


def _accepted(given: Mapping[str, Any], groups: Mapping[str, list[str]]) -> Accepted:
    named, switches = {"gpus", "formats", "engines", "providers"}, {"apart", "narrow"}
    ranges = {field.name for field in fields(Accepted)} - named - switches
    unknown = set(given) - named - ranges - switches
    if unknown:
        raise ValueError(f"unknown keys of an accepted answer: {sorted(unknown)}")
    values: dict[str, Any] = {key: _names(given[key], groups) for key in named & set(given)}
    values |= {key: _range(given[key]) for key in ranges & set(given)}
    values |= {key: given[key] for key in switches & set(given)}
    return Accepted(**values)


def _scenario(given: Mapping[str, Any], name: str) -> Scenario:
    """A scenario as in a file, with the load in short: ``load: [input tokens, output tokens, requests/s]``."""
    keys = {key: value for key, value in given.items() if key not in {"load", "place"}}
    if "load" in given:
        prompt, answer, rps = given["load"]
        keys["workload"] = {
            "input_tokens": prompt,
            "output_tokens": answer,
            "peak_rps": rps,
            **keys.get("workload", {}),
        }
    if "place" in given:
        keys["deployment"] = {"location": given["place"], **keys.get("deployment", {})}
    return Scenario.model_validate({"name": name, **keys})


@cache
def questions() -> tuple[Question, ...]:
    """The whole panel, in the order of its files."""
    groups = yaml.safe_load((FOLDER.parent / "groups.yaml").read_text(encoding="utf-8"))
    return tuple(
        Question(
            name=given["name"],
            why=given["why"],
            scenario=_scenario(given["scenario"], given["name"]),
            accept=tuple(_accepted(each, groups) for each in given["accept"] if each != NOTHING),
            nothing=NOTHING in given["accept"],
            says=frozenset(given.get("says", "").split()),
        )
        for file in sorted(FOLDER.glob("*.yaml"))
        for given in yaml.safe_load(file.read_text(encoding="utf-8"))
    )
