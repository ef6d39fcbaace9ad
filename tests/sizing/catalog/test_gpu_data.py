"""Facts of the accelerators, held against datasheets."""

import pytest

from sizing import catalog
from sizing.catalog.gpu_families import gpu_families
from sizing.catalog.gpu_rows import PCIE_X16_BYTES_PER_S, pcie_bytes_per_s
from tests.sizing.catalog.test_data import rows

TERA = 1e12


def test_gpu_facts_lie_in_the_range_of_real_hardware():
    for gpu in (one for one in catalog.gpus().values() if not one.processor):
        assert gpu.family in gpu_families(), gpu.id
        assert 11e9 <= gpu.memory_bytes <= 440e9, gpu.id
        assert 200e9 <= gpu.memory_bandwidth <= 25e12, gpu.id
        assert gpu.sizable, gpu.id
        assert gpu.fp16_flops is None or 18 * TERA <= gpu.fp16_flops <= 5000 * TERA, gpu.id
        assert gpu.tdp_w is None or 50 <= gpu.tdp_w <= 1500, gpu.id
        assert gpu.domain_gpus in (1, 2, 4, 8, 12, 16, 72, 256, 4096, 8960, 9216), gpu.id
        assert gpu.link_bytes_per_s is None or 50e9 <= gpu.link_bytes_per_s <= 1800e9, gpu.id
        assert gpu.pcie_bytes_per_s in {*PCIE_X16_BYTES_PER_S.values(), 32e9}, gpu.id


DENSE_TFLOPS = {
    "h100_sxm": (989, 1979),
    "h200_sxm": (989, 1979),
    "h100_pcie": (756.5, 1513),
    "h100_nvl": (835.5, 1671),
    "h200_nvl": (835.5, 1671),
    "a100_sxm_80g": (312, None),
    "a100_sxm_40g": (312, None),
    "a100_pcie_80g": (312, None),
    "a40": (149.7, None),
    "a10": (125, None),
    "l4": (121, 242),
    "l40": (181, 362),
    "l40s": (362, 733),
    "rtx_6000_ada": (364.2, 728.5),
    "b200_sxm": (2250, 4500),
    "b300_sxm": (2250, 4500),
    "gb200": (2500, 5000),
    "gb300": (2500, 5000),
    "mi300x": (1307, 2615),
    "mi325x": (1307, 2615),
    "mi355x": (2500, 5000),
    "mi250x": (383, None),
    "v100_sxm": (125, None),
    "t4": (65, None),
    "gh200": (989, 1979),
    "rtx_4090": (165.2, 330.3),
    "rtx_5090": (209.6, 419.2),
}


@pytest.mark.parametrize("gpu_id", DENSE_TFLOPS)
def test_matrix_rates_are_the_dense_ones(gpu_id):
    gpu = catalog.gpus()[gpu_id]
    fp16, fp8 = DENSE_TFLOPS[gpu_id]
    assert gpu.fp16_flops == pytest.approx(fp16 * TERA, rel=0.01)
    assert (gpu.fp8_flops is None) if fp8 is None else gpu.fp8_flops == pytest.approx(fp8 * TERA, rel=0.01)


def test_facts_of_processors_lie_in_the_range_of_real_machines():
    """One Xeon socket has 307 to 845 GB/s, an Apple chip 400 to 819; nothing is planned on them unasked."""
    machines = [gpu for gpu in catalog.gpus().values() if gpu.processor]
    assert {gpu.family for gpu in machines} == {name for name, one in gpu_families().items() if one.processor}
    for gpu in machines:
        assert gpu.sizable, gpu.id
        assert gpu.named_only, gpu.id
        assert gpu.domain_gpus == 1, gpu.id
        assert 250e9 <= gpu.memory_bandwidth <= 1700e9, gpu.id
        assert 10 * TERA <= max(gpu.fp16_flops or 0, gpu.bf16_flops or 0) <= 1100 * TERA, gpu.id
        assert 0.7 <= gpu.program_bytes / gpu.memory_bytes <= 0.91, gpu.id


def test_no_eight_bit_rate_is_more_than_twice_the_sixteen_bit_rate_but_int8_on_geforce():
    for gpu in catalog.gpus().values():
        wide = max(gpu.fp16_flops or 0, gpu.bf16_flops or 0)
        # 2,517 MXFP8 beside 671 BF16 TFLOPS (Neuron documentation); 17.5 PFLOPS beside 4 (NVIDIA, before release)
        microscaled = {"trn3": 3.8, "vr200": 4.4}.get(gpu.id, 2.05)
        assert gpu.fp8_flops is None or not wide or gpu.fp8_flops <= microscaled * wide, gpu.id
        limit = 4.05 if "GeForce" in gpu.name else 2.05
        assert gpu.int8_ops is None or gpu.int8_ops <= limit * wide, gpu.id


def test_a_format_without_hardware_has_no_rate():
    for gpu in catalog.gpus().values():
        assert gpu.supports_fp8 or gpu.fp8_flops is None, gpu.id
        assert gpu.supports_fp4 or gpu.fp4_flops is None, gpu.id
        assert gpu.supports_bf16 or gpu.bf16_flops is None, gpu.id


@pytest.mark.parametrize(
    ("gpu_id", "one_way_gbs", "domain"),
    [
        ("h100_sxm", 450, 8),
        ("h100_nvl", 300, 2),
        ("h200_nvl", 450, 4),
        ("a40", 56.25, 2),
        ("gb200", 900, 72),
        ("mi300x", 448, 8),
        ("mi355x", 537.5, 8),
    ],
)
def test_links_are_one_direction_of_the_datasheet_figure(gpu_id, one_way_gbs, domain):
    gpu = catalog.gpus()[gpu_id]
    assert gpu.link_bytes_per_s == pytest.approx(one_way_gbs * 1e9)
    assert gpu.domain_gpus == domain
    assert gpu.has_fast_link


@pytest.mark.parametrize(
    ("gpu_id", "shown_mib", "gigabytes"),
    [("h100_sxm", 81_559, 80), ("l4", 23_034, 24), ("mi300x", 196_592, 192), ("v100_pcie_16g", 16_384, 16)],
)
def test_memory_is_what_the_driver_shows_and_its_name_keeps_the_vendors_gigabytes(gpu_id, shown_mib, gigabytes):
    """nvidia-smi and rocm-smi: an H100 shows 79.65 GiB, an L4 with ECC 22.49, an MI300X 191.98."""
    gpu = catalog.gpus()[gpu_id]
    assert gpu.memory_bytes == shown_mib * 2**20
    assert gpu.memory_gb == gigabytes
    assert f"{gigabytes}GB" in gpu.name


def test_memory_says_where_it_was_read_and_lies_near_the_vendors_figure():
    for row in rows("gpus.csv"):
        gpu = catalog.gpus()[row["id"]]
        assert row["memory_source"], gpu.id
        # A driver keeps up to 7 % of a GiB-counted size for error correction, and shows GiB where the vendor says GB.
        assert 0.93 <= gpu.memory_bytes / (gpu.memory_gb * 1e9) <= 1.075, gpu.id


def test_editions_of_one_chip_have_facts_of_their_own():
    server, workstation = (catalog.gpus()[f"rtx_pro_6000_{name}"] for name in ("server", "workstation"))
    assert (server.memory_bandwidth, workstation.memory_bandwidth) == (1597e9, 1792e9)
    assert (server.market, workstation.market) == ("datacenter", "professional")
    assert catalog.gpus()["v100_sxm"].memory_bytes == 2 * catalog.gpus()["v100_sxm_16g"].memory_bytes


def test_who_a_card_is_made_for_is_stated():
    players = {gpu.id for gpu in catalog.gpus().values() if gpu.consumer}
    assert players == {gpu.id for gpu in catalog.gpus().values() if "GeForce" in gpu.name}
    assert {gpu.id for gpu in catalog.gpus().values() if gpu.status == "preliminary"} == {"vr200", "mi455x"}
    assert all(gpu.named_only for gpu in catalog.gpus().values() if gpu.status == "preliminary")


def test_pcie_bandwidth_doubles_with_each_generation_and_falls_with_fewer_lanes():
    assert pcie_bytes_per_s(5) == 2 * pcie_bytes_per_s(4) == 4 * pcie_bytes_per_s(3)
    assert pcie_bytes_per_s(5, lanes=8) == pcie_bytes_per_s(4)
    assert catalog.gpus()["b60"].pcie_bytes_per_s == 32e9


def test_filled_gaps_say_where_they_come_from():
    filled = {row["id"] for row in rows("gpus.csv") if row["gaps_filled"]}
    assert {"h100_nvl", "h200_nvl", "l40", "rtx_6000_ada", "a40", "gh200", "mi355x", "t4", "mi250x"} <= filled
