"""Comparing on schedule: each finding is kept and told to a webhook; what fails is a sentence, the next one comes."""

import itertools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from collectors.errors import InvalidSource, SourceError
from collectors.prometheus import Fetcher, FetchLimits
from collectors.prometheus.address import check_url
from collectors.prometheus.fetch import DEFAULT_PORTS, status_problem
from collectors.source import Source
from reality.compare import compare_source
from reality.result import RealityComparison
from sharing.access import Actor
from sharing.bonds import Bonds, Calibrations
from sharing.bonds.records import Finding, SourcePlace
from sharing.errors import InvalidEntry, SharingError
from sharing.library import Library
from sharing.library.records import ScenarioDraft, ScenarioQuery
from sizing.planning.answered import Answer
from sizing.scenario.schema import Scenario

TIMEOUT_S = 10.0
"""How long the whole exchange may take. Chosen: as long as one with a source."""
REFUSED_FROM = 300
"""HTTP status from which the webhook has not taken what it was told; redirects stay on its host."""

MOST_OF_A_NAME = 1_000
"""Scenarios looked through for one of the same name."""


@dataclass(frozen=True)
class Webhook:
    """An HTTP address that is told every comparison as JSON."""

    url: str
    fetcher: Fetcher

    def tell(self, comparison: RealityComparison, last_good: str) -> str:
        """Post it; returns "" or the sentence why it was not taken."""
        try:
            reply = self.fetcher.post_json(self.url, message(comparison, last_good))
        except SourceError as error:
            return f"The webhook was not told: {error}"
        if reply.status < REFUSED_FROM:
            return ""
        parts = urlsplit(self.url)
        where = f"{parts.hostname}:{parts.port or DEFAULT_PORTS[parts.scheme]}"
        return f"The webhook was not told: {status_problem(reply.status, where)}"


def webhook(url: str) -> Webhook:
    """A webhook at an address that may be talked to. Raises InvalidSource with the sentence why not."""
    try:
        check_url(url)
    except SourceError as error:
        raise InvalidSource([f"--webhook: {error}"]) from None
    return Webhook(
        url=url.strip(), fetcher=Fetcher(limits=FetchLimits(timeout_s=TIMEOUT_S), use_environment_proxy=True)
    )


def message(comparison: RealityComparison, last_good: str) -> dict[str, object]:
    """What is posted: ``text`` is the finding as chat services show it; rows that are off with both values."""
    off = [
        {
            "key": row.key,
            "verdict": row.verdict,
            "measured": row.measured.value,
            "predicted": row.predicted.value,
            "unit": row.unit,
        }
        for row in comparison.performance
        if row.verdict in ("higher", "lower")
    ]
    return {
        "text": f"{comparison.scenario}: {comparison.answer}{f' {last_good}' if last_good else ''}",
        "scenario": comparison.scenario,
        "source": comparison.source,
        "at": comparison.at,
        "window_s": comparison.window_s,
        "state": comparison.state,
        "judged": comparison.judged,
        "reasons": list(comparison.reasons),
        "off": off,
    }


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What is compared, and where findings are kept: the answer to the scenario with its number in the library."""

    answer: Answer
    scenario_id: int
    source: Source
    window_s: float | None
    bonds: Bonds
    by: Actor
    webhook: Webhook | None = None


@dataclass(frozen=True, kw_only=True)
class Round:
    """One comparison, the last good one before it where this one judges nothing, and what failed on the way."""

    comparison: RealityComparison
    last_good: str
    problems: tuple[str, ...]


def numbered(library: Library, scenario: Scenario, by: Actor) -> int:
    """The number of the scenario of that name in the library; it is added where there is none.

    Raises InvalidEntry where several have the name.
    """
    listed = library.search(ScenarioQuery(text=scenario.name, limit=MOST_OF_A_NAME)).entries
    same = [entry.id for entry in listed if entry.name == scenario.name]
    if len(same) > 1:
        numbers = ", ".join(map(str, same[:5]))
        raise InvalidEntry(
            f"Several scenarios in the library are called “{scenario.name[:60]}” ({numbers}): give the number of one "
            "instead of the file."
        )
    return same[0] if same else library.add(ScenarioDraft(scenario=scenario), by=by).scenario_id


def bind(watched: Watched) -> None:
    """The scenario names its source, unless it does so already. Raises SharingError."""
    bond = watched.bonds.of_scenario(watched.scenario_id)
    if bond is None or bond.place.source != watched.source.name:
        watched.bonds.bind(watched.scenario_id, SourcePlace(source=watched.source.name), by=watched.by)


def compare_once(watched: Watched) -> Round:
    """Compare by the step times that are accepted now, keep and tell. Neither a source nor a library nor a webhook that
    fails ends it."""
    problems, last_good, learned = [], "", None
    try:
        accepted = Calibrations(watched.bonds.library).of_scenario(watched.scenario_id)
        learned = None if accepted is None else accepted.calibration
    except SharingError as error:
        problems.append(f"Step times as planned: {error}")
    comparison = compare_source(watched.answer, watched.source, window_s=watched.window_s, learned=learned)
    try:
        if not comparison.judged:
            last_good = _last_good(watched)
        watched.bonds.keep(watched.scenario_id, _finding(comparison), by=watched.by)
    except SharingError as error:
        problems.append(f"Not kept: {error}")
    if watched.webhook is not None and (problem := watched.webhook.tell(comparison, last_good)):
        problems.append(problem)
    return Round(comparison=comparison, last_good=last_good, problems=tuple(problems))


def watch(
    watched: Watched,
    show: Callable[[Round], None],
    *,
    every_s: float,
    times: int = 0,
    wait: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> None:
    """Compare every ``every_s`` seconds, ``times`` times (0: until stopped). One that takes longer delays the next."""
    begun = monotonic()
    for done in itertools.count(1):
        one = compare_once(watched)
        show(one)
        for problem in one.problems:
            print(problem, file=sys.stderr, flush=True)
        if done == times:
            return
        begun = max(begun + every_s, monotonic())
        wait(max(begun - monotonic(), 0.0))


def _finding(comparison: RealityComparison) -> Finding:
    return Finding(
        source=comparison.source,
        at=datetime.fromisoformat(comparison.at),
        state=comparison.state,
        judged=comparison.judged,
        answer=comparison.answer,
        comparison=comparison.model_dump_json(),
    )


def _last_good(watched: Watched) -> str:
    """The last good finding as a sentence; "" where there is none."""
    kept = watched.bonds.last_good(watched.scenario_id)
    if kept is None:
        return ""
    return f"Last good, {kept.finding.at:%Y-%m-%d %H:%M} UTC: {kept.finding.answer}"
