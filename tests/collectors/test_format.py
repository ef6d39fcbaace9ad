import pytest

from collectors.format import percent, sentence
from sizing.base import format as of_sizing


@pytest.mark.parametrize("share", [0.0, 1e-7, 0.0049, 0.0123, 0.096, 0.62, 0.995, 0.99999, 1.0, 1.234])
def test_a_share_reads_as_in_a_plan(share: float) -> None:
    assert percent(share) == of_sizing.percent(share)


def test_a_sentence_has_its_shares_in_per_cent_and_other_numbers_as_python_writes_them() -> None:
    assert sentence("{kv:percent} full, {rps:.2g} a second", kv=0.971, rps=0.1234) == "97 % full, 0.12 a second"
    assert sentence("KV {:percent}", 0.5) == "KV 50 %"
