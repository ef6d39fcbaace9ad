"""The deployment a scenario's plan chooses, as a fleet that can be simulated; and its traffic."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from sizing.base.choices import Routing
from sizing.base.provenance import StepSource
from sizing.catalog.model import Model
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.question.understand import Question
from sizing.scenario.traffic import Burst, Gamma, Profile, TraceArrivals
from sizing.search.aggregated import Aggregated
from sizing.search.screen import Evaluated
from sizing.simulator.arrivals import Arrivals, Bursts
from sizing.simulator.configured import configured_replica
from sizing.simulator.fleet import Disaggregated, Fleet, Replica, SimulatedDeployment
from sizing.simulator.request_lengths import DrawnLengths, ObservedLengths, RequestLengths
from sizing.steps.extras import with_extras
from sizing.steps.roofline import roofline
from sizing.steps.speculation import speculated

KEPT_REPLICAS = 64
"""Replicas kept in memory, 150 KB each at most. Chosen: a plan simulates up to about a dozen configurations, some with
two paces, and the next question is often about the same ones under another load."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedReplicas:
    """The deployment of a plan: ``working`` instances (spares not counted) of ``row``."""

    row: Configuration
    working: int
    replica: Replica

    does_both: ClassVar[bool] = True
    """Whether its instances do prefill and decode."""

    def fleet(self, routing: Routing) -> Fleet:
        """The working instances behind one front end."""
        return Fleet(replicas=(self.replica,) * self.working, routing=routing)

    def deployment(self, routing: Routing) -> SimulatedDeployment:
        """What the simulator runs: one fleet that computes prompts and answers."""
        return self.fleet(routing)

    @property
    def name(self) -> str:
        """Number and kind of the instances in words, for reports."""
        return f"{self.working} instance{'s' if self.working > 1 else ''} of {self.row.label}"


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedPools(PlannedReplicas):
    """Decode instances, with the ``prefill`` instances beside them and how long a KV cache takes from these."""

    does_both: ClassVar[bool] = False

    prefill: PlannedReplicas
    transfer_latency_s: float
    transfer_s_per_token: float

    def deployment(self, routing: Routing) -> SimulatedDeployment:
        """What the simulator runs: a prefill pool and a decode pool, with the time that a KV cache takes between
        them."""
        return Disaggregated(
            prefill=self.prefill.fleet(routing),
            decode=self.fleet(routing),
            transfer_latency_s=self.transfer_latency_s,
            transfer_s_per_token=self.transfer_s_per_token,
        )

    @property
    def name(self) -> str:
        """Number and kind of the prefill and of the decode instances in words, for reports."""
        return f"{self.prefill.working} prefill of {self.prefill.row.label} + {self.working} decode of {self.row.label}"


def planned_instances(deployments: Aggregated, k: int) -> PlannedReplicas:
    """Deployment ``k`` as it is simulated whole, spares not counted."""
    replica = replica_at(deployments.question, deployments.evaluated, int(deployments.index[k]))
    return PlannedReplicas(row=deployments.row(k), working=deployments.working(k)[0], replica=replica)


def replica_at(question: Question, evaluated: Evaluated, index: int) -> Replica:
    """One evaluated candidate as a replica, with the step times it was evaluated with."""
    row, slow = evaluated.candidates.rows[index], evaluated.slowness
    replica = as_replica(question, row)
    if evaluated.sources[index] == StepSource(kind="roofline", name=replica.grid.source):
        return _slowed(question.model, row, question.traffic, float(slow.decode[index]), float(slow.prefill[index]))
    times = evaluated.times.take(np.array([index]))
    concurrency = evaluated.state.concurrency[[index]]
    reference = roofline().times(question.model, table([row]), question.traffic, concurrency)
    reference = speculated(reference, question.model, table([row]), concurrency, question.traffic.decode_context)
    reference = with_extras(reference, question.model, table([row]), question.traffic)
    return replace(replica, grid=replica.grid.fitted_to(times, reference, concurrency[0]))


def as_replica(question: Question, row: Configuration) -> Replica:
    """A configuration as a replica at the mean lengths of a question, with step times of the roofline."""
    return _slowed(question.model, row, question.traffic, 1.0, 1.0)


@lru_cache(maxsize=KEPT_REPLICAS)
def _slowed(model: Model, row: Configuration, traffic: Traffic, decode: float, prefill: float) -> Replica:
    """The same with decode steps and prompts so many times as long: no load takes part in it."""
    if decode == prefill == 1.0:
        return configured_replica(model, row, traffic)
    replica = _slowed(model, row, traffic, 1.0, 1.0)
    return replace(replica, grid=replica.grid.stretched(decode, prefill))


def lengths_of(question: Question) -> RequestLengths:
    """Lengths of the requests of a question; of sessions each prompt with what is cached of it."""
    if question.reused is not None:
        return ObservedLengths(question.reused.drawn())
    return DrawnLengths(prompt=question.prompt, output=question.output, cached_tokens=question.traffic.cached_tokens)


def arrivals_of(question: Question) -> Arrivals:
    """Arrivals at the peak rate of a scenario; a daily profile peaks there in its busiest hour."""
    arrivals, peak = question.scenario.workload.arrivals, question.demand.sustained_rps
    if isinstance(arrivals, Profile):
        return Arrivals(rate_rps=peak, profile=tuple(arrivals.profile))
    if isinstance(arrivals, Burst):
        return Arrivals(rate_rps=peak, bursts=Bursts(**arrivals.bursts.model_dump()))
    if isinstance(arrivals, TraceArrivals):
        return Arrivals(rate_rps=peak, cv=arrivals.cv)
    return Arrivals(rate_rps=peak, cv=arrivals.gamma.cv if isinstance(arrivals, Gamma) else 1.0)
