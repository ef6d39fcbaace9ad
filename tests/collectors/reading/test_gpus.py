"""GPUs of a deployment: which are its own, and what their fields mean (pitfall n)."""

import pytest

from collectors.questions.devices import read_devices
from collectors.reading.observation import Observation
from collectors.source import source_from
from collectors.vocabulary import gpu_vocabularies
from tests.collectors.feeds import NOW, Feed, steady
from tests.collectors.reading.pitfall_pages import BASE


class TestN:
    """GPU fields that are not what they look like."""

    GPU = 'gpu="0",UUID="GPU-1",{host}="a",modelName="H100"'

    def gpus(self, *lines: str, host: str = "Hostname", **more: object) -> Observation:
        own = [line.replace("{", "{" + self.GPU.replace("{host}", host) + ",", 1) for line in lines]
        base = [f"DCGM_FI_DEV_POWER_USAGE{{{self.GPU.replace('{host}', host)}}} 400"]
        return Feed({"a:8000": steady(*BASE), "a:9400": steady(*base, *own)}).read(**more)

    def test_busy_is_not_activity(self) -> None:
        seen = self.gpus("DCGM_FI_DEV_GPU_UTIL{} 100", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{} 0.08")
        assert seen.number("gpu_busy") == 1
        assert seen.number("gpu_tensor_active") == pytest.approx(0.08)
        assert seen.number("gpu_sm_active") is None

    def test_kv_use_is_not_frame_buffer(self) -> None:
        seen = self.gpus("DCGM_FI_DEV_FB_USED{} 73000", "DCGM_FI_DEV_FB_FREE{} 1000")
        assert seen.number("kv_usage") == pytest.approx(0.4)

    @pytest.mark.parametrize("code", [0, 79])
    def test_xid_is_a_code_not_a_count(self, code: int) -> None:
        assert self.gpus(f"DCGM_FI_DEV_XID_ERRORS{{}} {code}").number("gpus_with_xid") == (1 if code else 0)

    def test_without_the_field_xid_is_unknown(self) -> None:
        assert self.gpus().number("gpus_with_xid") is None

    @pytest.mark.parametrize("blank", [9223372036854775794, 2147483632, 9.2e18])
    def test_blank_values_are_no_temperature(self, blank: float) -> None:
        assert self.gpus(f"DCGM_FI_DEV_GPU_TEMP{{}} {blank}").number("gpu_temperature_max_c") is None

    @pytest.mark.parametrize("host", ["Hostname", "hostname"])
    def test_either_spelling_of_hostname(self, host: str) -> None:
        assert self.gpus(host=host).number("gpus") == 1

    @pytest.mark.parametrize("pod", ["pod", "exported_pod"])
    def test_gpus_are_joined_by_either_pod_label(self, pod: str) -> None:
        engine = [line.replace("engine", 'pod="p-1",engine') for line in BASE]
        gpus = [f'DCGM_FI_DEV_POWER_USAGE{{UUID="GPU-{i}",gpu="{i}",{pod}="p-{i}"}} 300' for i in range(4)]
        seen = Feed({"a:8000": steady(*engine), "x:9400": steady(*gpus)}).read()
        assert seen.number("gpus") == 1
        assert seen.number("power_w") == 300

    def test_mig_uses_engine_activity(self) -> None:
        seen = self.gpus(
            'DCGM_FI_DEV_GPU_UTIL{GPU_I_ID="1"} 0',
            'DCGM_FI_PROF_GR_ENGINE_ACTIVE{GPU_I_ID="1"} 0.7',
            'DCGM_FI_DEV_FB_USED{GPU_I_ID="1"} 1000',
        )
        assert seen.number("gpu_busy") == pytest.approx(0.7)
        assert any("MIG" in note for note in seen.notes)
        assert seen.number("gpus") == 1

    def test_throttling_is_told_with_its_cause(self) -> None:
        seen = self.gpus("DCGM_FI_DEV_CLOCKS_EVENT_REASONS{} 96")
        assert seen.number("gpus_throttled") == 1
        assert any("hardware thermal slowdown" in note for note in seen.notes)
        assert self.gpus("DCGM_FI_DEV_CLOCKS_EVENT_REASONS{} 4").number("gpus_throttled") == 0

    def test_power_stands_beside_its_cap_and_memory_errors_are_counted(self) -> None:
        seen = self.gpus(
            "DCGM_FI_DEV_POWER_USAGE{} 640",
            "DCGM_FI_DEV_POWER_MGMT_LIMIT{} 700",
            "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{} 2",
            "DCGM_FI_DEV_ROW_REMAP_FAILURE{} 1",
        )
        assert (seen.number("power_w"), seen.number("power_cap_w")) == (640, 700)
        assert seen.number("ecc_uncorrected") == 2
        assert any("needs replacing" in note for note in seen.notes)

    def test_partitions_of_a_gpu_are_one_device_in_the_table(self) -> None:
        gpu = self.GPU.replace("{host}", "Hostname")
        one, two = f'GPU_I_ID="1",pod="p",{gpu}', f'GPU_I_ID="2",pod="q",{gpu}'
        rows = [f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{own}}} {v}" for own, v in ((one, 0.7), (two, 0.2))]
        rows += [f"DCGM_FI_DEV_FB_USED{{{own}}} 1000" for own in (one, two)]
        feed = Feed({"a:8000": steady(*BASE), "a:9400": steady(*rows)})
        raw = {"schema_version": 1, "name": "t", "scrape": {"targets": ["http://x/metrics"]}}
        (device,) = read_devices(feed.backend, source_from(raw), clock=lambda: NOW)
        assert (device.name, device.values["engine_active"]) == ("a/0", pytest.approx(0.7))

    def test_pcie_gauges_are_not_rated(self) -> None:
        use = gpu_vocabularies()["dcgm"].concepts["pcie_tx"].use[0]
        assert use.gauge == "DCGM_FI_PROF_PCIE_TX_BYTES"

    def test_amd_is_read(self) -> None:
        own = 'gpu_id="0",serial_number="s",hostname="a"'
        fields = {"gpu_gfx_activity": 90, "gpu_package_power": 600, "gpu_used_vram": 1000, "gpu_total_vram": 2000}
        lines = [f"{name}{{{own}}} {value}" for name, value in fields.items()]
        seen = Feed({"a:8000": steady(*BASE), "a:5000": steady(*lines)}).read()
        assert seen.gpu_exporter == "amd"
        assert (seen.number("gpu_busy"), seen.number("power_w")) == (0.9, 600)


def test_missing_field_names_what_to_enable() -> None:
    gpu = 'DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1",Hostname="a"} 400'
    seen = Feed({"a:8000": steady(*BASE), "a:9400": steady(gpu)}).read()
    told = {m.quantity: m.reason for m in seen.missing}
    assert "DCGM_FI_PROF_SM_ACTIVE in the counters file" in told["gpu_sm_active"]
    assert "DCGM_FI_DEV_POWER_MGMT_LIMIT" in told["power_cap_w"]
    assert "power_w" not in told
    assert told["arrivals_rps"]
