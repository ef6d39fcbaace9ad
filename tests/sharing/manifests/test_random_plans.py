"""Whatever is planned, every target is valid or left out."""

import pytest
from hypothesis import HealthCheck, given, settings

from sharing.errors import NothingToDeploy
from sharing.manifests import manifests
from sharing.manifests.bundle import README, TARGETS, refused
from sharing.manifests.facts import facts_of
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sharing.manifests.validation import check_files
from tests.sizing.random_scenarios import valid_scenarios


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(valid_scenarios())
def test_every_target_validates_or_is_left_out_with_a_reason(keys):
    scenario = Scenario.model_validate(keys)
    plan = analytic_plan(scenario)
    if plan.deployment is None:
        with pytest.raises(NothingToDeploy):
            manifests(Answer(understand(scenario), plan))
        return
    contents, facts = manifests(Answer(understand(scenario), plan)), facts_of(Answer(understand(scenario), plan))
    check_files(contents)
    left_out = refused(facts)
    assert len(left_out) < len(TARGETS)
    for target in left_out:
        assert left_out[target].value[1:] in contents[README]
    assert sum(group.gpus * group.instances for group in facts.groups) == plan.deployment.gpus
