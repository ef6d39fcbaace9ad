"""What a plan does in a simulation in which the system that holds most of its instances is lost."""

from sizing.base.units import MS_PER_S, S_PER_HOUR, S_PER_MINUTE
from sizing.planning.answered import Answer
from sizing.replay.simulate import planned, simulate
from sizing.replay.what_if import WhatIf
from sizing.scenario.schema import Scenario

MINUTES = 20.0
"""How long the system is down at least."""
REQUESTS_LONG = 12.0
"""How many times as long as a request the system is down at least. Chosen: so that what it had begun and is done again
stays below the 5 % of requests that a limit of p95 leaves out; answers of 16,000 tokens take six minutes."""
SHARE_DOWN = 1 / 3
"""Part of the simulated time in which the system is down."""


def with_system_to_lose(scenario: Scenario) -> Answer:
    """The answer to the same scenario with N+1 systems, where it does not ask for as much already."""
    deployment = scenario.deployment
    if deployment.redundancy == "none":
        deployment = deployment.model_copy(update={"redundancy": "system"})
    return Answer.of(scenario.model_copy(update={"deployment": deployment}))


def keeps_limits(answer: Answer) -> bool:
    """Whether what is left holds every limit: requests in the system while it is down, counted apart.

    Pools are run with the instances that are left; of both kinds no system holds more than stand by.
    """
    deployed, scenario = answer.plan.deployment, answer.scenario
    assert deployed is not None
    if scenario.measured is not None:
        return deployed.spare_instances * deployed.systems >= deployed.instances
    chosen = planned(answer)
    assert chosen is not None
    if not chosen.does_both:
        assert deployed.pools is not None
        size = deployed.gpus_bought // deployed.systems
        for pool in deployed.pools:
            assert pool.spare_instances >= max(size // (pool.gpus // pool.instances), 1)
        return bool(simulate(answer).meets_limits)
    assert deployed.instances - deployed.in_fullest_system >= chosen.working
    assert answer.plan.latency is not None
    e2e_ms = answer.plan.latency.e2e_ms.at_percentile
    assert e2e_ms is not None
    a_request = e2e_ms / MS_PER_S / S_PER_MINUTE
    down = max(MINUTES, REQUESTS_LONG * a_request)
    hours = down * S_PER_MINUTE / S_PER_HOUR / SHARE_DOWN
    found = simulate(answer, what_if=WhatIf(fail_minutes=down, fails="system"), hours=hours)
    assert found.failure is not None
    assert found.failure.instances_left >= chosen.working
    return found.failure.meets_limits
