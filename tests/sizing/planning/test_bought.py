"""What is bought and what of it is used, in a sentence."""

import pytest

from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answer import bought
from tests.sizing.asking import LLAMA_8B, raw


@pytest.mark.parametrize(
    ("every", "said"), [(1, "its GPU carries the load"), (2, "both GPUs carry"), (4, "all 4 GPUs carry")]
)
def test_a_server_whose_gpus_all_work_is_said_in_plain_words(every: int, said: str) -> None:
    deployed = analytic_plan(Scenario.model_validate(raw(LLAMA_8B))).deployment
    full = deployed.model_copy(update={"gpus": every, "gpus_bought": every, "systems": 1, "spare_instances": 0})
    assert said in bought(full, "H100 SXM")
