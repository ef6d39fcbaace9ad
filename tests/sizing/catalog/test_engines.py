"""Engines: every fact of one stands in its entry of engines.yaml, and names lead to one engine only."""

import pytest

from sizing.base.errors import UnknownName
from sizing.catalog.engines import engine_in_a_benchmark, engines, resolve_engine
from sizing.catalog.gpu_families import gpu_families
from sizing.catalog.gpu_rows import gpus


def test_every_name_leads_to_one_engine() -> None:
    names = [name for e in engines().values() for name in {e.id, e.label.lower(), *e.aliases} | set(e.stands_in_for)]
    assert len(names) == len(set(names))
    assert all(name == name.lower() for name in names)


def test_what_an_engine_names_is_in_the_catalogue() -> None:
    for engine in engines().values():
        assert engine.surrogate in engines()
        assert engine.built_on in ("", *engines())
        assert bool(engine.before) == bool(engine.until)
        assert bool(engine.status_source) == (engine.status == "archived")
        assert set(engine.disaggregated) <= set(gpu_families())
        assert engine.source
        assert engine.eviction_source


@pytest.mark.parametrize(
    ("gpu", "tokens", "sequences"), [("h100_sxm", 8192, 1024), ("a100_sxm_80g", 2048, 256), ("l40s", 2048, 256)]
)
def test_vllm_takes_the_a100_for_a_small_gpu(gpu: str, tokens: int, sequences: int) -> None:
    """EngineArgs.get_batch_defaults: the larger defaults from 70 GiB on, but for the A100 (pull request 17885)."""
    vllm = engines()["vllm"]
    assert (vllm.budget(gpus()[gpu]), vllm.sequences(gpus()[gpu])) == (tokens, sequences)
    assert engines()["sglang"].budget(gpus()["a100_sxm_80g"]) == 8192


def test_nim_is_vllm_since_2_and_was_tensorrt_llm_before() -> None:
    """Its 2.0 replaced the engine; what was measured until 2025 is of 1.x (docs.nvidia.com, 1.x migration guide)."""
    now, then = engine_in_a_benchmark("nim", 2026.8), engine_in_a_benchmark("nim", 2025.4)
    assert (now.id, now.memory.engine) == ("nim", "vllm")
    assert (now.surrogate, now.evicts, now.narrow_kv, now.block_tokens) == ("vllm", True, False, 16)
    assert (then.id, then.surrogate, then.evicts, then.narrow_kv, then.block_tokens) == (
        "nim",
        "trtllm",
        False,
        True,
        32,
    )


def test_a_benchmark_ran_with_the_memory_and_the_steps_of_its_year() -> None:
    b200 = gpus()["b200_sxm"]
    then, now = engine_in_a_benchmark("vllm", 2025.9), engine_in_a_benchmark("vllm", 2026.9)
    assert (then.memory.fraction, then.budget(b200), then.memory.batches_in_flight) == (0.90, 8192, 1)
    assert (now.memory.fraction, now.budget(b200), now.memory.batches_in_flight) == (0.92, 16_384, 2)
    assert now is engines()["vllm"]


def test_an_engine_outside_the_catalogue_has_defaults_of_another_and_a_fit_of_its_own() -> None:
    atom = engine_in_a_benchmark("Atom")
    assert (atom.id, atom.label, atom.surrogate) == ("atom", "Atom", "atom")
    assert atom.token_budget == engines()["sglang"].token_budget
    assert not atom.kernel_tables
    assert engine_in_a_benchmark("dynamo-sglang") is engines()["sglang"]
    assert engine_in_a_benchmark("").surrogate == "default"
    with pytest.raises(UnknownName):
        engine_in_a_benchmark("never-heard-of")
    with pytest.raises(UnknownName):
        resolve_engine("atom")
