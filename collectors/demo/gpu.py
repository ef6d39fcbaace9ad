"""The dcgm-exporter page of the demo: two GPUs a replica, following what the replica does."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from collectors.backends.scrape.text import PageSample
from collectors.demo.replica import DemoReplica, Family, Labels, written

GPUS_PER_REPLICA = 2  # chosen: what the model of the demo needs, see collectors/demo/queue.py
POWER_CAP_W = 700.0  # of the H100 SXM (its data sheet)
IDLE_W = 118.0  # chosen: as an H100 SXM shows with a model loaded
MEMORY_MIB = 81_559  # as the driver of an H100 80 GB shows it
USED_MIB = 73_820  # chosen: nine tenths, the share that vLLM takes by default
RESERVED_MIB = 520  # chosen: of the order that the driver keeps for itself
CLOCK_MHZ = 1_980  # highest SM clock of the H100 SXM
SLOW_CLOCK_MHZ = 1_155  # chosen: 58 % of it, as SLOW_FACTOR in collectors/demo/queue.py says
XID_FALLEN_OFF = 79  # "GPU has fallen off the bus" (NVIDIA's list of XID errors)
THERMAL = 0x20 | 0x40  # the two thermal bits of clocksEventReasons (NVML)


@dataclass
class DemoGpu:
    """One GPU: where it is, and what of its past decides what comes."""

    number: int
    replica: DemoReplica
    energy_mj: float = 0.0
    temperature_c: float = 34.0
    xid: int = 0
    slow: bool = False

    @property
    def activity(self) -> tuple[float, float, float]:
        """Share of time with any kernel, with prefill, and of memory traffic."""
        if self.replica.lost:
            return 0.0, 0.0, 0.0
        last = self.replica.last
        decoding = min(1.0, 0.55 + self.replica.state.count / 120) if self.replica.state.count else 0.0
        busy = 1.0 if self.replica.state.count or last.prefill_share else 0.0
        return busy, last.prefill_share, decoding * (1.0 - 0.6 * last.prefill_share)

    @property
    def power_w(self) -> float:
        """The power in W that the GPU draws now."""
        busy, prefill, memory = self.activity
        drawn = IDLE_W + busy * (150.0 + 330.0 * prefill + 190.0 * memory)
        return min(POWER_CAP_W, drawn * (0.62 if self.slow else 1.0))

    def advance(self, step_s: float) -> None:
        """Let energy and temperature follow the power."""
        power_w = self.power_w
        self.energy_mj += power_w * step_s * 1000.0
        target = 91.0 if self.slow else 30.0 + 0.075 * power_w
        self.temperature_c += (target - self.temperature_c) * min(1.0, step_s / 40.0)
        if self.number % GPUS_PER_REPLICA == 0:
            # It comes back with its host, whose restart loads the driver anew and with it clears the code.
            self.xid = XID_FALLEN_OFF if self.replica.lost else 0

    def values(self) -> dict[str, tuple[str, float]]:
        """Prometheus type and value of each DCGM field of this GPU."""
        busy, prefill, memory = self.activity
        free = MEMORY_MIB - USED_MIB - RESERVED_MIB
        used = 0 if self.replica.lost else USED_MIB
        return {
            "DCGM_FI_DEV_SM_CLOCK": ("gauge", SLOW_CLOCK_MHZ if self.slow else CLOCK_MHZ),
            "DCGM_FI_DEV_MEM_CLOCK": ("gauge", 2619),
            "DCGM_FI_DEV_GPU_TEMP": ("gauge", round(self.temperature_c)),
            "DCGM_FI_DEV_MEMORY_TEMP": ("gauge", round(self.temperature_c + 9)),
            "DCGM_FI_DEV_POWER_USAGE": ("gauge", round(self.power_w, 3)),
            "DCGM_FI_DEV_POWER_MGMT_LIMIT": ("gauge", POWER_CAP_W),
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": ("counter", round(self.energy_mj)),
            "DCGM_FI_DEV_GPU_UTIL": ("gauge", round(100 * busy)),
            "DCGM_FI_DEV_XID_ERRORS": ("gauge", self.xid),
            "DCGM_FI_DEV_FB_FREE": ("gauge", free + USED_MIB - used),
            "DCGM_FI_DEV_FB_USED": ("gauge", used),
            "DCGM_FI_DEV_FB_RESERVED": ("gauge", RESERVED_MIB),
            "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": ("counter", 0),
            "DCGM_FI_DEV_ROW_REMAP_FAILURE": ("gauge", 0),
            "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": ("gauge", THERMAL if self.slow else 0 if busy else 1),
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("gauge", round(busy, 6)),
            "DCGM_FI_PROF_SM_ACTIVE": ("gauge", round(min(1.0, 0.35 * busy + 0.55 * prefill), 6)),
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": ("gauge", round(0.04 * busy + 0.5 * prefill, 6)),
            "DCGM_FI_PROF_DRAM_ACTIVE": ("gauge", round(0.75 * memory, 6)),
        }

    @property
    def labels(self) -> Labels:
        """Labels as dcgm-exporter writes them under Kubernetes."""
        return _labels(self.number, self.replica.pod)


@cache
def _labels(number: int, pod: str) -> Labels:
    labels = {
        "gpu": str(number),
        "UUID": f"GPU-00000000-0000-4000-8000-{number:012d}",
        "pci_bus_id": f"00000000:{0x18 + number:02X}:00.0",
        "device": f"nvidia{number}",
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": "demo-node",
        "container": "vllm",
        "namespace": "demo",
        "pod": pod,
    }
    return tuple(sorted(labels.items()))


def _families(gpus: list[DemoGpu]) -> Iterator[Family]:
    columns = [(gpu.labels, gpu.values()) for gpu in gpus]
    for name, (kind, _) in columns[0][1].items() if columns else ():
        yield name, kind, [(name, labels, values[name][1]) for labels, values in columns]


def gpu_page(gpus: list[DemoGpu]) -> str:
    """The metrics page of all GPUs of the node."""
    return written(_families(gpus))


def gpu_samples(gpus: list[DemoGpu]) -> list[PageSample]:
    """What dcgm-exporter would say of these GPUs, sample by sample."""
    return [PageSample(name, labels, float(value)) for _, _, rows in _families(gpus) for name, labels, value in rows]
