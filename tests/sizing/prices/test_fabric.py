"""Only a fabric joins systems into one instance of a model: what has one, and what follows for plans and prices."""

import numpy as np
import pytest

from sizing import Scenario
from sizing.catalog import cloud_fabrics, cloud_instances, gpus, systems
from sizing.planning.analytic import analytic_plan
from sizing.prices.cost import Offers, cheapest_option
from sizing.prices.hardware import fabric_of_instance, fabric_of_system, options
from sizing.question.understand import understand
from sizing.scenario.prices import Prices
from sizing.search.screen import all_configurations, most_gpus
from tests.sizing.asking import raw

MOE = "Qwen/Qwen3-235B-A22B"


@pytest.mark.parametrize(
    ("provider", "instance_type", "joined"),
    [
        ("aws", "p5.48xlarge", True),
        ("aws", "p5.4xlarge", False),
        ("aws", "g6e.xlarge", False),
        ("azure", "Standard_ND96isr_H100_v5", True),
        ("azure", "Standard_NC96ads_A100_v4", False),
        ("nebius", "gpu-h100-sxm_8gpu-128vcpu-1600gb", True),
        ("nebius", "gpu-h100-sxm_1gpu-16vcpu-200gb", False),
        ("verda", "1H200.141S.44V", False),
        ("lambda", "gpu_8x_h100_sxm5", False),
        ("somebody", "8x", False),
    ],
)
def test_whole_servers_of_clusters_have_a_fabric_and_small_instances_none(provider, instance_type, joined):
    assert bool(fabric_of_instance(provider, instance_type)) == joined


def test_every_fabric_has_source_and_date_and_no_single_gpu_has_one():
    assert all(row.source and row.date for row in cloud_fabrics())
    single = [row for row in cloud_instances() if row.gpus == 1 and not row.instance_type.startswith("tpu")]
    assert len(single) > 20
    assert not [row for row in single if fabric_of_instance(row.provider, row.instance_type)]


def test_servers_that_are_bought_can_be_joined_and_workstations_cannot():
    assert fabric_of_system(systems()["dgx_h100"])
    workstations = [system for system in systems().values() if system.host == "workstation"]
    assert workstations
    assert not any(fabric_of_system(system) for system in workstations)


@pytest.mark.parametrize("model", [MOE, "MiniMaxAI/MiniMax-M2", "meta-llama/Llama-3.3-70B-Instruct"])
@pytest.mark.parametrize("rps", [0.5, 20])
def test_no_instance_spans_rented_machines_that_nothing_joins(model, rps):
    asked = raw(model, workload={"peak_rps": rps}, deployment={"location": "cloud"})
    found = analytic_plan(Scenario.model_validate(asked), alternatives=1000)
    everything = [found.deployment, *(one.deployment for one in found.alternatives)]
    offered = {option.name: option for gpu in gpus().values() for option in options(gpu, "cloud", Prices())}
    assert len(everything) > 10
    for one in everything:
        for kind in one.kinds:
            option = offered[one.system]
            assert kind.tp * kind.pp * kind.dp <= option.gpus or option.fabric


def test_configurations_end_at_what_one_machine_holds():
    question = understand(Scenario.model_validate(raw(MOE, deployment={"location": "cloud", "gpus": ["gh200"]})))
    assert most_gpus(question, question.gpus[0]) == max(o.gpus for o in options(question.gpus[0], "cloud", Prices()))
    assert {row.gpus for row in all_configurations(question).rows} == {1}


def test_an_instance_over_two_machines_takes_those_that_are_joined_however_dear():
    offers = Offers([options(gpus()["h100_sxm"], "cloud", Prices())])
    one, two = (cheapest_option([1], [each], [0], offers) for each in (8, 16))
    assert two.options[0].fabric
    assert two.usd_per_hour[0] >= 2 * np.min([o.usd_per_hour for o in offers.by_gpu[0] if o.gpus == 8 and o.fabric])
    assert one.systems[0] == 1
