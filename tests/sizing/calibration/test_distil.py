"""Kernel tables become priors: known parameters are recovered, and what is shipped is physically possible."""

import io
import itertools
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibration.distil_attention import decodes, prompt_s, prompts
from calibration.distil_collectives import all_reduce
from calibration.distil_fit import Chip, chip_of, thinned
from calibration.distil_kernels import kernels_yaml
from calibration.distil_matrices import dense_products, dense_tables, expert_products, expert_tables, gemm_s, moe_s
from calibration.kernel_priors import kernel_centre, kernels
from calibration.kernel_tables import DATA, VERSION, NoTables, fetched, newest
from sizing.catalog.gpu_names import resolve_gpu

H100 = Chip(resolve_gpu("h100_sxm"))
DENSE = {"matrix": 0.7, "memory": 0.8, "start": 4e-6, "exposed": 0.3}
EXPERTS = {"matrix": 0.4, "memory": 0.8, "start": 3e-5, "exposed": 0.6, "evenness": 0.8, "expert_passes": 4.0,
           "wide_memory": 0.9}  # fmt: skip


def wheel(folder: Path, tables: dict[str, pd.DataFrame]) -> Path:
    path = folder / "aisimulate-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, frame in tables.items():
            data = io.BytesIO()
            frame.to_parquet(data)
            archive.writestr(f"{DATA}{name}.parquet", data.getvalue())
    return path


def product(**columns: list[int]) -> pd.DataFrame:
    return pd.DataFrame(itertools.product(*columns.values()), columns=list(columns))


def gemms() -> pd.DataFrame:
    rows = product(m=[1, 8, 64, 256, 1024, 8192], n=[2048, 4096, 8192], k=[1024, 4096, 8192, 16384])
    rows = pd.concat([rows, rows.assign(n=rows["n"] + 1024), rows.assign(k=rows["k"] * 2)]).drop_duplicates()
    return rows.assign(gemm_dtype="fp8", latency=1e3 * gemm_s(rows, H100, "fp8", DENSE))


def experts() -> pd.DataFrame:
    rows = product(
        num_tokens=[1, 8, 64, 512, 4096, 16384], hidden_size=[2048, 7168], inter_size=[1024, 2048], topk=[4, 8],
        num_experts=[64, 256], moe_tp_size=[1, 4], moe_ep_size=[1],
    )  # fmt: skip
    latency = 1e3 * moe_s(rows, H100, "fp8", EXPERTS)
    return rows.assign(moe_dtype="fp8", distribution="power_law_1.2", latency=latency)


def test_dense_products_are_recovered(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"h100_sxm/gemm/vllm/0.1.0/gemm_perf": gemms()})
    (found,) = dense_products(dense_tables(path))
    assert found.fit.values == pytest.approx(DENSE, rel=0.01)
    assert np.abs(found.fit.errors).max() < 0.01


def test_experts_are_recovered(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"h100_sxm/moe/vllm/0.1.0/moe_perf": experts()})
    (found,) = expert_products(expert_tables(path), EXPERTS["wide_memory"])
    assert {**found.fit.values, "wide_memory": 0.9} == pytest.approx(EXPERTS, rel=0.02)


def test_attention_of_prompts_is_recovered(tmp_path: Path) -> None:
    rows = product(
        batch_size=[1, 4, 16],
        isl=[512, 2048, 8192, 16384, 12288, 1024, 4096],
        num_heads=[16, 32],
        num_key_value_heads=[1, 2, 4],
    )
    rows = rows.assign(head_dim=128, kv_cache_dtype="bfloat16", window_size=0, step=0)
    rows["latency"] = 1e3 * (prompt_s(rows, H100, {"share": 0.55, "query_pairs": 150.0}, 0.9, 0.6) + 1e-5)
    path = wheel(tmp_path, {"h100_sxm/attention/vllm/0.1.0/context_attention_perf": rows})
    (found,) = prompts(path, {"hopper": 0.9}, 0.6)
    assert found.fit.values["share"] == pytest.approx(0.55, rel=0.01)
    assert found.fit.values["query_pairs"] == pytest.approx(150.0, rel=0.05)
    (given,) = prompts(path, {"hopper": 0.9}, 0.6, 150.0)
    assert given.fit.values == pytest.approx({"share": 0.55, "start": 1e-5}, rel=0.01)


def test_cache_reads_are_recovered_from_those_that_no_cache_of_the_gpu_holds(tmp_path: Path) -> None:
    rows = product(
        batch_size=[16, 32, 64, 128, 256, 512],
        step=[1023, 2047, 4095, 8191, 16383, 32767],
        num_heads=[16, 32],
        num_key_value_heads=[1, 2, 4],
    )
    rows = rows.assign(isl=1, head_dim=128)
    byte = 2 * 2 * 128 * rows["num_key_value_heads"] * rows["batch_size"] * (rows["step"] + 1)
    seconds = 8e-6 + np.where(byte < 2**26, 0.2, 1.0) * byte / (0.85 * 3.35e12)
    rows = rows.assign(kv_cache_dtype="bfloat16", window_size=0, latency=1e3 * seconds)
    path = wheel(tmp_path, {"h100_sxm/attention/vllm/0.1.0/generation_attention_perf": rows})
    (found,) = decodes(path, {"hopper": 0.5}, exposed=0.0)
    assert found.fit.values["share"] == pytest.approx(0.85, rel=0.02)


def test_all_reduce_of_16_bit_elements_is_recovered() -> None:
    rows = product(num_gpus=[2, 4, 8], message_size=[2**i for i in range(9, 27)])
    one_shot = (rows["num_gpus"] - 1) * 2 * rows["message_size"] / 450e9 / 0.4
    shots = np.minimum(one_shot, 2 / rows["num_gpus"] * one_shot + 6e-6)
    rows["latency"] = 1e3 * (4e-6 * (rows["num_gpus"] / 2) ** 0.3 + shots)
    wanted = {"latency": 4e-6, "growth": 0.3, "link": 0.4, "two_shot_s": 6e-6}
    assert all_reduce(rows, 450e9).values == pytest.approx(wanted, rel=0.01)


def test_the_newest_full_version_is_read_and_no_development_version(tmp_path: Path) -> None:
    rows = gemms()
    folder = "h100_sxm/gemm/trtllm"
    versions = {"1.3.0rc9": rows, "1.3.0rc20": rows, "1.3.0rc23": rows[:3], "dev-abc": rows}
    path = wheel(tmp_path, {f"{folder}/{v}/gemm_perf": frame for v, frame in versions.items()})
    (table,) = newest(path, "gemm/gemm_perf", ("m", "absent"))
    assert (table.system, table.framework, table.version) == ("h100_sxm", "trtllm", "1.3.0rc20")
    assert list(table.frame) == ["m"]


def test_a_wheel_without_tables_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoTables, match=r"^aisimulate-0-py3-none-any.whl holds no kernel tables of kind gemm/\w+\.$"):
        next(newest(wheel(tmp_path, {}), "gemm/gemm_perf", ("m",)))
    (tmp_path / "no.whl").write_text("no archive")
    with pytest.raises(NoTables, match=r"^no.whl cannot be read as a wheel"):
        next(newest(tmp_path / "no.whl", "gemm/gemm_perf", ("m",)))


def test_systems_that_the_catalogue_or_the_roofline_does_not_know_are_left_out() -> None:
    assert chip_of("nothing_of_this_name") is None
    assert chip_of("b60") is None


def test_thinning_keeps_rows_of_every_value() -> None:
    rows = pd.DataFrame({"m": [1] * 1000 + [2] * 7})
    assert thinned(rows, "m", 50).value_counts().to_dict() == {(1,): 50, (2,): 7}


def test_what_is_shipped_is_physically_possible() -> None:
    found = kernels()
    assert {"default", "hopper", "blackwell", "ampere", "ada"} == set(found["families"])
    assert {"vllm", "sglang", "trtllm"} == set(found["engines"])
    for family, values in found["families"].items():
        assert all(0.05 < v < 1.1 for v in values.values()), family
    common = found["common"]["all"]
    assert all(0.0 < common[f"exposed_{w}"] <= 1.0 for w in (16, 8, 4))
    assert common["imbalance"] >= 1.0
    assert common["evenness"] > 0.0
    assert 1e-6 < common["collective_s"] < 2e-5
    assert all(s["median_pct"] < 25.0 for s in found["surfaces"].values())


def test_a_family_without_kernels_has_the_default() -> None:
    assert kernel_centre("families", "cdna3", "kv") == kernel_centre("families", "default", "kv")
    assert kernel_centre("families", "hopper", "kv") != kernel_centre("families", "default", "kv")
    assert kernel_centre("engines", "", "step_s") is None
    assert kernel_centre("common", "", "evenness") == kernels()["common"]["all"]["evenness"]


def test_the_file_says_each_member_in_a_line() -> None:
    text = kernels_yaml({"families": {"hopper": {"kv": 0.84567}}, "common": {"collective_s": 3.93e-06, "rows": 3}})
    assert text.endswith("families:\n  hopper: {kv: 0.846}\ncommon: {collective_s: 0.00000393, rows: 3}\n")


def test_tables_that_cannot_be_fetched_are_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: slow\nERROR: No matching distribution found.\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(NoTables, match=r"could not be fetched: ERROR: No matching distribution found\.$"):
        fetched(tmp_path / "wheels")
    there = tmp_path / "wheels" / f"aisimulate-{VERSION}-py3-none-any.whl"
    there.write_text("")
    assert fetched(there.parent) == there
