"""Accelerators as people type them, and what is said of those that the catalogue does not have."""

import pytest
import yaml

from sharing.form import __file__ as form
from sizing.base.errors import UnknownName
from sizing.catalog import gpus, resolve_gpu
from sizing.catalog.gpu_names import gpu_named
from sizing.catalog.gpu_near import OWN_GPU, gpu_refusals, near_gpus

TYPED = {
    "rtx_a5000": ["a5000", "RTX A5000", "NVIDIA RTX A5000"],
    "rtx_a4000": ["A4000", "nvidia rtx a4000"],
    "rtx_5000_ada": ["RTX 5000 Ada Generation"],
    "rtx_4500_ada": ["rtx 4500 ada", "NVIDIA RTX 4500 Ada Generation"],
    "rtx_4000_ada": ["RTX 4000 Ada"],
    "rtx_5070_ti": ["5070 ti", "RTX5070Ti", "NVIDIA GeForce RTX 5070 Ti"],
    "rtx_5080": ["5080", "GeForce RTX 5080"],
    "rtx_4090": ["4090"],
    "rtx_2080_ti": ["2080ti", "NVIDIA GeForce RTX 2080 Ti"],
    "p100": ["P100", "Tesla P100-PCIE-16GB"],
    "jetson_thor": ["thor", "Jetson AGX Thor", "T5000", "NVIDIA Thor"],
    "jetson_orin": ["orin", "Jetson Orin", "AGX Orin 64GB", "Orin (nvgpu)"],
    "rx_7900_xtx": ["rx7900xtx", "7900 xtx", "AMD Radeon RX 7900 XTX"],
    "w7900": ["W7900", "AMD Radeon PRO W7900"],
    "r9700": ["r9700", "AMD Radeon AI PRO R9700"],
    "mi300a": ["MI300A", "AMD Instinct MI300A"],
    "mi100": ["mi100", "AMD Instinct MI100"],
    "b580": ["b580", "Intel Arc B580", "Intel(R) Arc(TM) B580 Graphics"],
    "tpu_v4": ["TPU v4", "tpuv4"],
    "trn1": ["trainium", "Trainium1", "AWS Trainium"],
    "ascend_910b": ["ascend", "Ascend 910B", "910b", "Huawei Ascend 910B"],
    "ascend_910c": ["910C", "ascend 910c"],
}


@pytest.mark.parametrize(("gpu_id", "name"), [(gpu_id, name) for gpu_id, names in TYPED.items() for name in names])
def test_a_typed_name_leads_to_its_accelerator(gpu_id, name):
    assert resolve_gpu(name).id == gpu_id


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("Jetson Orion", "NVIDIA"),
        ("rtx 3060", "NVIDIA"),
        ("DGX H100", "NVIDIA"),
        ("trainum", "AWS"),
        ("Gaudi", "Intel"),
        ("ascend 310", "Huawei"),
        ("rx 7800 xtx", "AMD"),
    ],
)
def test_near_names_are_of_the_vendor_that_the_name_says(name, vendor):
    near = near_gpus(name)
    assert near
    assert {resolve_gpu(one).vendor for one in near} == {vendor}


@pytest.mark.parametrize("name", ["P40", "K80", "GTX 1080 Ti", "turing", "Cerebras WSE-3", "Groq LPU", "h900", "x"])
def test_a_name_that_nothing_is_like_is_answered_with_the_way_to_enter_ones_own(name):
    with pytest.raises(UnknownName) as unknown:
        resolve_gpu(name)
    assert str(unknown.value) == f"Unknown GPU “{name}”. {OWN_GPU}"


def test_the_way_to_enter_ones_own_is_called_as_in_the_form():
    with open(form.replace("__init__.py", "fields.yaml"), encoding="utf-8") as fields:
        assert f"“{yaml.safe_load(fields)['own']['label']}”" in OWN_GPU


@pytest.mark.parametrize("refusal", gpu_refusals(), ids=lambda one: one.label)
def test_a_product_that_is_not_sized_says_why_and_what_is_nearest(refusal):
    assert refusal.source
    assert refusal.date.startswith("20")
    assert set(refusal.nearest) <= set(gpus())
    for name in refusal.names:
        assert gpu_named(name) is None
        with pytest.raises(UnknownName) as unknown:
            resolve_gpu(name.title())
        assert refusal.why in str(unknown.value)
        assert unknown.value.nearest == list(refusal.nearest)
