"""The largest load within the limits, from the plan's engine, and what to add when the load outgrows it."""

import math
from dataclasses import dataclass

from reality.forecast.result import CarriedBy, Carries, LeadTime
from sizing.base.choices import is_rented
from sizing.base.deployed import Deployed
from sizing.base.result import Plan
from sizing.catalog import lead_times
from sizing.scenario.schema import Scenario

DEFAULT_LEAD_WEEKS = 12.0
"""From order to use of a GPU of which no delivery time is published. Chosen: a quarter, for offer, approval, delivery
and installation."""
RENTED_LEAD_WEEKS = 1.0
"""Weeks until rented GPUs serve. Chosen: a week to raise a quota and start replicas."""


def carries(plan: Plan, seen: int | None, wanted: CarriedBy, measured_rps: float | None = None) -> Carries | None:
    """What the replicas seen carry, or those planned; None where the plan deploys nothing.

    ``plan.headroom`` is the load that the planned instances carry, spares aside, over the planned one, as surely as
    asked. Where prefill runs apart, or no replica is seen, it is that of the plan. ``measured_rps`` is what a diagnosis
    of the replicas seen found that they carry, in requests/s: it stands instead, so that both say one number.
    """
    deployed = plan.deployment
    if deployed is None or plan.per_instance is None:
        return None
    if measured_rps and seen and wanted == "deployment":
        return Carries(
            rps=measured_rps, carried_by="measured", replicas=seen, per_replica_rps=measured_rps / seen, confidence=None
        )
    working = max(deployed.instances - deployed.spare_instances, 1)
    whole = plan.headroom * plan.sustained_rps if plan.headroom else plan.per_instance.max_rps * working
    if not whole > 0.0:
        return None
    each, replicas, by = whole / working, working, wanted
    if wanted == "deployment" and seen and not deployed.pools:
        replicas = max(seen - deployed.spare_instances, 1)
    else:
        by = "plan"
    return Carries(
        rps=each * replicas, carried_by=by, replicas=replicas, per_replica_rps=each, confidence=plan.confidence
    )


def lead_time(scenario: Scenario, deployed: Deployed, given_weeks: float | None) -> LeadTime:
    """The time given, else the longest published one of the GPU, else :data:`DEFAULT_LEAD_WEEKS`; rented, a week."""
    if given_weeks is not None:
        return LeadTime(weeks=given_weeks, basis="given", source="")
    if is_rented(scenario.deployment.location):
        return LeadTime(weeks=RENTED_LEAD_WEEKS, basis="rented", source="")
    known = [one for one in lead_times() if one.gpu_id == deployed.gpu and one.weeks_high is not None]
    if not known:
        return LeadTime(weeks=DEFAULT_LEAD_WEEKS, basis="default", source="")
    longest = max(known, key=lambda one: one.weeks_high or 0.0)
    return LeadTime(weeks=longest.weeks_high or 0.0, basis="published", source=f"{longest.source} ({longest.date})")


@dataclass(frozen=True, kw_only=True)
class Addition:
    """Replicas, GPUs and whole systems to add."""

    replicas: int
    gpus: int
    systems: int


def addition(deployed: Deployed, carried: Carries, load_rps: float) -> Addition:
    """What a load needs beyond what is there; one replica at least."""
    replicas = max(math.ceil(load_rps / carried.per_replica_rps) - carried.replicas, 1)
    gpus = replicas * (deployed.gpus // max(deployed.instances, 1))
    per_system = max(deployed.gpus_bought // max(deployed.systems, 1), 1)
    return Addition(replicas=replicas, gpus=gpus, systems=math.ceil(gpus / per_system))
