import gzip

import pytest

from sizing.catalog import resolve_gpu, resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.catalog.files import DATA_DIR
from sizing.catalog.precisions import resolve_precision
from sizing.evidence.published import evidence, evidence_frame, nearest
from sizing.evidence.sources import SOURCES, source_url
from sizing.question.configuration import Configuration


def asked(model="openai/gpt-oss-120b", gpu="h100_sxm", engine="vllm", precision="mxfp4", tp=4):
    return resolve_model(model).model, Configuration(
        gpu=resolve_gpu(gpu),
        engine=resolve_engine(engine),
        precision=resolve_precision(precision),
        kv_precision="fp16",
        tp=tp,
    )


def test_every_row_of_the_library_ships():
    assert len(evidence_frame()) == 10235


def test_the_file_is_the_same_bytes_whenever_it_is_written():
    packed = (DATA_DIR / "evidence.csv.gz").read_bytes()
    assert packed[4:8] == bytes(4), "the gzip header carries a time"
    assert gzip.decompress(packed).startswith(b"quality,source,")


def test_measurements_are_resolved_and_name_their_source():
    rows = evidence()
    assert len(rows) == 10235 - 159, "all but the rows without a prompt length"
    assert all(m.source and m.source_link and m.quality in ("good", "caution") for m in rows)
    assert all(m.configuration.gpus >= 1 and m.input_tokens >= 1 for m in rows)


def test_random_lengths_are_the_mean_ones():
    drawn = next(m for m in evidence() if m.source == "inferencemax")
    fixed = next(m for m in evidence() if m.source == "aic_silicon_nvidia")
    assert drawn.input_tokens in (921.6, 7372.8)
    assert fixed.input_tokens == int(fixed.input_tokens)


def test_nearest_finds_the_configuration_itself_first():
    model, configuration = asked()
    found = nearest(model, configuration, concurrency=16, input_tokens=921.6, output_tokens=921.6)
    best = found[0].measurement
    assert found[0].distance == pytest.approx(0.0, abs=1e-9)
    assert (best.model.id, best.configuration.gpu.id, best.concurrency) == (model.id, "h100_sxm", 16)
    assert [f.distance for f in found] == sorted(f.distance for f in found)


def test_nearest_prefers_the_same_family_to_another():
    model, configuration = asked(gpu="h100_nvl", tp=2)
    assert {n.measurement.configuration.gpu.family for n in nearest(model, configuration)} == {"hopper"}


def test_nearest_gives_as_many_as_asked():
    assert len(nearest(*asked(), count=3)) == 3


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
