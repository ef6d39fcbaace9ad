"""Every published measurement has a named source with licence and address."""

import pytest

from sizing.evidence.published import evidence_frame
from sizing.evidence.sources import SOURCES, source_url


def test_every_source_of_the_library_is_described_and_none_is_left_over():
    assert set(evidence_frame()["source"]) == set(SOURCES)


def test_every_row_has_an_address():
    places = evidence_frame()["source_url_or_repo_path"].unique()
    assert all((source_url(p) or "").startswith("https://") for p in places)


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("NVIDIA/TensorRT-LLM docs/a.md @d8b", "https://github.com/NVIDIA/TensorRT-LLM"),
        ("https://docs.vultr.com/x (search excerpt)", "https://docs.vultr.com/x"),
        ("a private note", None),
        ("javascript:alert(1) x", None),
    ],
)
def test_address_of_a_place(place, url):
    assert source_url(place) == url
