"""GPU exporters: spellings, slices, which GPUs are a deployment's own, and those of replicas that are gone."""

from collections.abc import Mapping, Sequence

import pytest

from collectors.backends.backend import Vectors
from collectors.prometheus.answers import Sample
from collectors.queries.query import Group, Subject
from collectors.questions.devices import read_devices
from collectors.questions.xids import xid_log
from collectors.reading.gpu_join import GpuJoin, gpu_scope, join_gpus
from collectors.reading.layout import ReplicaLayout
from collectors.reading.observation import Observation, State
from collectors.source import source_from
from collectors.vocabulary import gpu_vocabularies
from collectors.vocabulary.detect import DetectedExporter, detect_gpus
from collectors.vocabulary.expressions import Scope
from tests.collectors.feeds import NOW, Feed, steady
from tests.collectors.reading.pitfall_pages import BASE

RAW = {"schema_version": 1, "name": "t", "scrape": {"targets": ["http://x/metrics"]}}


def read(*lines: str, **more: object) -> Observation:
    return Feed({"a:8000": steady(*BASE), "a:9400": steady(*lines)}).read(**more)


AMD = {"gpu_gfx_activity": 87, "gpu_used_vram": 176000, "gpu_total_vram": 196592, "gpu_package_power": 610}


@pytest.mark.parametrize("prefix", ["", "amd_"])
@pytest.mark.parametrize("clock", ["GPU_CLOCK_TYPE_SYSTEM", "system", "SYSTEM"])
def test_amd_with_and_without_its_prefix(prefix: str, clock: str) -> None:
    lines = [f'{prefix}{name}{{gpu_id="{i}",serial_number="s{i}"}} {v}' for name, v in AMD.items() for i in (0, 1)]
    lines += [f'{prefix}gpu_clock{{gpu_id="0",serial_number="s0",clock_type="{clock}"}} 2100']
    lines += [f'{prefix}gpu_clock{{gpu_id="0",serial_number="s0",clock_type="memory"}} 900']
    seen = read(*lines)
    assert (seen.gpu_exporter, seen.number("gpus"), seen.number("power_w")) == ("amd", 2, 1220)
    assert seen.number("gpu_memory_total_gb") == pytest.approx(2 * 196592 * 1.048576 / 1000)
    assert seen.number("gpu_clock_min_mhz") == 2100


def test_early_names_and_labels_of_amd() -> None:
    own = 'GPU_UUID="u",SERIAL_NUMBER="s"'
    fields = {"gpu_usage": 50, "gpu_total_memory": 68702, "gpu_power_usage": 41}
    seen = read(*[f"{name}{{{own}}} {value}" for name, value in fields.items()])
    assert (seen.number("gpus"), seen.number("gpu_busy"), seen.number("power_w")) == (1, 0.5, 41)


TELEGRAF = 'host="h",index="0",name="NVIDIA H100 80GB HBM3",uuid="u",pstate="P0"'
ALL_SMI = 'gpu="NVIDIA H200 141GB HBM3",uuid="u",index="0",hostname="h"'
RAY = 'GpuIndex="0",GpuDeviceName="NVIDIA_H100_80GB_HBM3",ip="10.0.0.1",SessionName="s",instance="10.0.0.1:8080"'


@pytest.mark.parametrize(
    ("exporter", "lines", "numbers"),
    [
        (
            "nvidia_smi",
            [
                'nvidia_smi_gpu_info{uuid="u",index="0",name="NVIDIA H100 80GB HBM3"} 1',
                'nvidia_smi_memory_used_bytes{uuid="u"} 2e10',
                'nvidia_smi_memory_total_bytes{uuid="u"} 8.5e10',
                'nvidia_smi_utilization_gpu_ratio{uuid="u"} 0.5',
                'nvidia_smi_power_draw_watts{uuid="u"} 630',
                'nvidia_smi_clocks_current_sm_clock_hz{uuid="u"} 1.98e9',
                'nvidia_smi_xid_errors_total{uuid="u",xid="79"} 2',
                'nvidia_smi_clocks_event_reasons_active{uuid="u"} 8',
            ],
            {"gpus_with_xid": 1, "gpus_throttled": 1, "gpu_clock_min_mhz": 1980, "gpu_memory_total_gb": 85},
        ),
        (
            "gaudi",
            [
                'habanalabs_utilization{UUID="u",device="hl-225"} 50',
                'habanalabs_power_mW{UUID="u",device="hl-225"} 630000',
                'habanalabs_memory_used_bytes{UUID="u",device="hl-225"} 2e10',
                'habanalabs_memory_total_bytes{UUID="u",device="hl-225"} 9e10',
            ],
            {"gpu_memory_total_gb": 90},
        ),
        (
            "xpum",
            [
                'xpum_engine_ratio{uuid="u"} 0.5',
                'xpum_power_watts{uuid="u"} 630',
                'xpum_memory_used_bytes{uuid="u",sub_dev="0"} 1.5e10',
                'xpum_memory_used_bytes{uuid="u",sub_dev="1"} 0.5e10',
                'xpum_memory_ratio{uuid="u",sub_dev="0"} 0.5',
                'xpum_memory_ratio{uuid="u",sub_dev="1"} 0.1',
            ],
            {"gpu_memory_total_gb": 80},
        ),
        (
            "ascend",
            [
                'npu_chip_info_utilization{id="0",vdie_id="v",model_name="910B3"} 50',
                'npu_chip_info_power{id="0",vdie_id="v",model_name="910B3"} 630',
                f'npu_chip_info_hbm_used_memory{{id="0",vdie_id="v",model_name="910B3"}} {20e9 / 1048576}',
                f'npu_chip_info_hbm_total_memory{{id="0",vdie_id="v",model_name="910B3"}} {64e9 / 1048576}',
            ],
            {"gpu_memory_total_gb": 64},
        ),
        (
            "nvidia_gpu",
            [
                'nvidia_gpu_duty_cycle{minor_number="0",uuid="u",name="Tesla T4"} 50',
                'nvidia_gpu_power_usage_milliwatts{minor_number="0",uuid="u",name="Tesla T4"} 630000',
                'nvidia_gpu_memory_used_bytes{minor_number="0",uuid="u",name="Tesla T4"} 2e10',
                'nvidia_gpu_memory_total_bytes{minor_number="0",uuid="u",name="Tesla T4"} 4e10',
            ],
            {"gpu_memory_total_gb": 40},
        ),
        (
            "telegraf",
            [
                f"nvidia_smi_{name}{{{TELEGRAF}}} {value}"
                for name, value in (
                    ("utilization_gpu", 50),
                    ("power_draw", 630),
                    ("memory_used", 20e9 / 1048576),
                    ("memory_total", 85e9 / 1048576),
                    ("clocks_current_sm", 1980),
                )
            ],
            {"gpu_memory_total_gb": 85, "gpu_clock_min_mhz": 1980},
        ),
        (
            "all_smi",
            [
                f"all_smi_gpu_{name}{{{ALL_SMI}}} {value}"
                for name, value in (
                    ("utilization", 50),
                    ("power_consumption_watts", 630),
                    ("memory_used_bytes", 20e9),
                    ("memory_total_bytes", 150e9),
                    ("frequency_mhz", 1980),
                )
            ],
            {"gpu_memory_total_gb": 150, "gpu_clock_min_mhz": 1980},
        ),
        (
            "ray",
            [
                f"ray_node_{name}{{{RAY}}} {value}"
                for name, value in (
                    ("gpus_utilization", 50),
                    ("gpu_power_milliwatts", 630_000),
                    ("gram_used", 20e9 / 1048576),
                    ("gram_available", 60e9 / 1048576),
                )
            ],
            {"gpu_memory_total_gb": 80},
        ),
    ],
)
def test_exporters_of_other_makers(exporter: str, lines: Sequence[str], numbers: Mapping[str, float]) -> None:
    seen = read(*lines)
    assert (seen.gpu_exporter, seen.number("gpus")) == (exporter, 1)
    assert {key: seen.number(key) for key in numbers} == pytest.approx(dict(numbers))
    assert (seen.number("gpu_busy"), seen.number("power_w")) == (0.5, 630)
    assert seen.number("gpu_memory_used_gb") == pytest.approx(20)


TPU = 'make="cloud-tpu",model="tpu-v6e-slice",tpu_topology="2x2"'
NEURON = 'instance_id="i-1",instance_type="trn2.48xlarge",runtime_tag="9"'


@pytest.mark.parametrize(
    ("exporter", "lines"),
    [
        (
            "gke",
            [
                line
                for chip in (0, 1)
                for line in (
                    f'duty_cycle{{accelerator_id="h-{chip}",{TPU}}} 50',
                    f'tensorcore_utilization{{accelerator_id="h-{chip}",{TPU}}} 22',
                    f'memory_used{{accelerator_id="h-{chip}",{TPU}}} 1e10',
                    f'duty_cycle_node{{accelerator_id="h-{chip}",{TPU}}} 90',
                )
            ],
        ),
        ("neuron", [f'neuroncore_utilization_ratio{{neuroncore="{core}",{NEURON}}} 0.5' for core in (0, 1)]),
    ],
)
def test_accelerators_without_power_are_counted(exporter: str, lines: Sequence[str]) -> None:
    seen = read(*lines)
    assert (seen.gpu_exporter, seen.number("gpus"), seen.number("gpu_busy")) == (exporter, 2, 0.5)
    assert seen.number("power_w") is None


@pytest.mark.parametrize(
    ("labels", "product"),
    [
        ('card_series="AMD Instinct MI300X OAM",card_model="102-G30211-0C"', "AMD Instinct MI300X OAM"),
        ('card_series="",card_model="AMD Instinct MI250X"', "AMD Instinct MI250X"),
        ('card_model="MI355X"', "MI355X"),
    ],
)
def test_products_of_amd_are_named_by_their_series(labels: str, product: str) -> None:
    lines = [f'{name}{{gpu_id="0",serial_number="s",{labels}}} {value}' for name, value in AMD.items()]
    feed = Feed({"a:8000": steady(*BASE), "a:9400": steady(*lines)})
    (gpu,) = read_devices(feed.backend, source_from(RAW), clock=lambda: NOW)
    assert gpu.product == product


def test_nvidia_smi_names_products_and_codes() -> None:
    lines = [f'nvidia_smi_gpu_info{{uuid="u{i}",index="{i}",name="NVIDIA H200"}} 1' for i in (0, 1)]
    lines += ['nvidia_smi_power_draw_watts{uuid="u0"} 500', 'nvidia_smi_xid_errors_total{uuid="u1",xid="79"} 2']
    feed = Feed({"a:8000": steady(*BASE), "a:9835": steady(*lines)})
    devices = read_devices(feed.backend, source_from(RAW), clock=lambda: NOW)
    assert {(d.name, d.product) for d in devices} == {("a:9835/0", "NVIDIA H200"), ("a:9835/1", "NVIDIA H200")}
    assert any("GPU a:9835/u1 shows an XID error 79." in note for note in feed.read().notes)


class TestSlices:
    """MIG: memory of the parts adds up, activity weighs as many slices as a part has."""

    def mig(self, *parts: tuple[str, str, float, int], card: str = "0") -> list[str]:
        lines = []
        for number, profile, active, mib in parts:
            own = f'gpu="{card}",UUID="GPU-{card}",Hostname="a",GPU_I_ID="{number}",GPU_I_PROFILE="{profile}"'
            lines += [
                f"DCGM_FI_DEV_FB_USED{{{own}}} {mib}",
                f"DCGM_FI_DEV_FB_FREE{{{own}}} {20000 - mib}",
                f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{own}}} {active}",
                f"DCGM_FI_DEV_POWER_USAGE{{{own}}} 210",
            ]
        return lines

    @pytest.mark.parametrize(
        ("parts", "busy", "mib"),
        [
            ([("1", "3g.20gb", 0.9, 15000), ("2", "3g.20gb", 0.1, 5000)], 0.5, 20000),
            ([("1", "4g.40gb", 1.0, 15000), ("2", "1g.10gb", 0.0, 1000)], 0.8, 16000),
            ([("7", "1g.10gb", 0.42, 0), ("8", "1g.10gb", 0.0, 0), ("9", "1g.10gb", 0.91, 100)], 1.33 / 3, 100),
            ([("1", "1c.3g.40gb", 0.5, 100), ("2", "2g.20gb", 1.0, 200)], 0.7, 300),
        ],
    )
    def test_parts_of_one_card(self, parts: list[tuple[str, str, float, int]], busy: float, mib: int) -> None:
        seen = read(*self.mig(*parts))
        assert (seen.number("gpus"), seen.number("power_w")) == (1, 210)
        assert seen.number("gpu_busy") == pytest.approx(busy)
        assert seen.number("gpu_memory_used_gb") == pytest.approx(mib * 1.048576e-3)
        assert seen.number("gpu_memory_total_gb") == pytest.approx(len(parts) * 20000 * 1.048576e-3)

    def test_a_card_that_is_whole_beside_one_in_parts(self) -> None:
        whole = 'gpu="1",UUID="GPU-1",Hostname="a"'
        lines = [f"DCGM_FI_DEV_FB_USED{{{whole}}} 70000", f"DCGM_FI_DEV_POWER_USAGE{{{whole}}} 400"]
        seen = read(*self.mig(("1", "3g.20gb", 0.9, 15000), ("2", "3g.20gb", 0.1, 5000)), *lines)
        assert (seen.number("gpus"), seen.number("power_w")) == (2, 610)
        assert seen.number("gpu_memory_used_gb") == pytest.approx(90000 * 1.048576e-3)

    def test_the_card_and_its_parts_are_not_added(self) -> None:
        whole = 'gpu="0",UUID="GPU-0",Hostname="a"'
        seen = read(
            *self.mig(("1", "3g.20gb", 0.9, 15000), ("2", "3g.20gb", 0.1, 5000)),
            f"DCGM_FI_DEV_FB_USED{{{whole}}} 20000",
        )
        assert seen.number("gpu_memory_used_gb") == pytest.approx(20000 * 1.048576e-3)


def test_gpu_selector_takes_the_exporter_that_has_what_it_selects() -> None:
    dcgm = [f'DCGM_FI_DEV_POWER_USAGE{{UUID="GPU-{i}",gpu="{i}",rack="r1"}} 300' for i in range(2)]
    amd = [f'gpu_package_power{{serial_number="s{i}",rack="r2"}} 600' for i in range(4)]
    feed = Feed({"x:8000": steady(*BASE), "y:9400": steady(*dcgm), "z:5000": steady(*amd)})
    for rack, exporter, gpus in (("r1", "dcgm", 2), ("r2", "amd", 4)):
        seen = feed.read(gpu_selector={"rack": rack})
        assert (seen.gpu_exporter, seen.number("gpus")) == (exporter, gpus)


def test_two_exporters_of_one_card_count_it_once() -> None:
    smi = ['nvidia_smi_gpu_info{uuid="0",name="H100"} 1', 'nvidia_smi_power_draw_watts{uuid="0"} 390']
    dcgm = ['DCGM_FI_DEV_POWER_USAGE{UUID="GPU-0",gpu="0",Hostname="a"} 400']
    seen = Feed({"a:8000": steady(*BASE), "a:9400": steady(*dcgm), "a:9835": steady(*smi)}).read()
    assert (seen.gpu_exporter, seen.number("gpus"), seen.number("power_w")) == ("dcgm", 1, 400)


def joined(places: Sequence[tuple[Mapping[str, str], float]], *replicas: Mapping[str, str]) -> GpuJoin:
    """The GPUs of replicas at a Prometheus where GPUs are at some places."""
    exporter = DetectedExporter(vocabulary=gpu_vocabularies()["dcgm"])
    samples = tuple(Sample(labels=labels, time_s=0.0, value=value) for labels, value in places)
    answer = Vectors(samples={Subject("dcgm", group=Group.GPU_PLACES): samples})
    layout = ReplicaLayout(live=replicas, seen=replicas, newest_s=0.0, oldest_s=0.0, interval_s=15.0)
    return join_gpus([exporter], answer, layout, None, {"DCGM_FI_DEV_FB_USED"})


class TestOwnGpus:
    """GPUs of other pods and of neighbours in the same Prometheus are not the deployment's."""

    def test_a_neighbour_of_ten_thousand_gpus_does_not_coarsen_eight(self) -> None:
        far = [({"Hostname": f"n{i}", "exported_pod": f"other-{i}"}, 8.0) for i in range(1250)]
        for own in ({"exported_pod": "vllm-0"}, {"Hostname": "mine"}):
            join = joined([*far, (own, 8.0)], {"pod": "vllm-0", "node": "mine"})
            assert join.devices == 8
            assert not gpu_scope(join, Scope(window_s=300)).instant

    def test_by_host_without_those_of_pods_that_are_not_ours(self) -> None:
        places = [({"Hostname": "h", "pod": "embedding"}, 4.0), ({"Hostname": "h"}, 4.0)]
        join = joined(places, {"pod": "vllm-0", "node": "h"})
        assert (join.labels, join.devices) == ({"Hostname": ["h"], "pod": [""]}, 4)

    def test_by_the_namespace_where_replicas_have_no_pod(self) -> None:
        places = [({"Hostname": "h", "pod": p, "namespace": n}, 4.0) for p, n in (("a", "x"), ("b", "y"))]
        join = joined(places, {"namespace": "y", "node": "h"})
        assert (join.labels, join.devices) == ({"Hostname": ["h"], "pod": ["b"]}, 4)

    def test_several_pods_and_nothing_that_tells_them_apart_is_unknown(self) -> None:
        places = [({"Hostname": "h", "pod": p}, 4.0) for p in ("a", "b")]
        join = joined(places, {"node": "h"})
        assert join.vocabulary is None
        assert "GPUs of other pods (a, b)" in join.reason

    def test_as_many_pods_as_replicas_are_theirs(self) -> None:
        places = [({"Hostname": "h", "pod": p}, 4.0) for p in ("a", "b")]
        assert joined(places, {"node": "h", "instance": "1"}, {"node": "h", "instance": "2"}).devices == 8

    def test_a_pod_is_known_by_the_name_in_its_address(self) -> None:
        places = [({"Hostname": "h", "pod": p}, 4.0) for p in ("vllm-0", "other")]
        join = joined(places, {"instance": "vllm-0.vllm.svc:8000", "node": "h"})
        assert (join.how, join.labels) == ("pod", {"pod": ["vllm-0"]})


class TestLost:
    """A replica that is gone for longer than the window, and what was its GPU."""

    def feed(self, *, xid: int, answers: bool = False) -> Feed:
        def engine(pod: str, until: float = 1e9) -> object:
            lines = [line.replace("{", f'{{pod="{pod}",', 1) for line in BASE]
            empty = "up_to_date 1\n"  # the target answers, but its engine is gone
            return lambda t: steady(*lines)(t) if t < until else empty if answers else None

        def gpus(elapsed: float) -> str:
            pods = ["p-0", "p-1" if elapsed < 700 else ""]
            lines = []
            for i, pod in enumerate(pods):
                own = f'UUID="GPU-{i}",gpu="{i}",Hostname="h"' + (f',exported_pod="{pod}"' if pod else "")
                lines += [f"DCGM_FI_DEV_POWER_USAGE{{{own}}} 300", f"DCGM_FI_DEV_XID_ERRORS{{{own}}} {xid if i else 0}"]
            return "\n".join(lines) + "\n"

        pages = {"1.1.1.1:8000": engine("p-0"), "1.1.1.2:8000": engine("p-1", 700.0), "1.1.1.9:9400": gpus}
        return Feed(pages, seconds=1800)

    def test_it_is_told_with_its_xid(self) -> None:
        seen = self.feed(xid=79).read()
        assert seen.state is State.PARTIAL
        assert any("p-1 is down" in reason and "XID 79" in reason for reason in seen.reasons)
        assert (seen.number("gpus"), seen.number("gpus_with_xid")) == (1, 1)
        assert any("GPU h/1 shows an XID error 79." in note for note in seen.notes)

    def test_the_log_of_xids_has_it(self) -> None:
        feed = self.feed(xid=79)
        (event,) = xid_log(feed.backend, source_from(RAW), start_s=NOW - 600, end_s=NOW, clock=lambda: NOW)
        assert (event.host, event.gpu, event.code) == ("h", "1", 79)

    def test_an_xid_alone_says_that_it_is_lost(self) -> None:
        seen = self.feed(xid=79, answers=True).read()
        assert any("p-1 is down" in reason for reason in seen.reasons)

    def test_without_either_it_is_said_that_there_are_fewer(self) -> None:
        seen = self.feed(xid=0, answers=True).read()
        assert not any("down" in reason for reason in seen.reasons)
        assert any("p-1 stopped reporting" in note and "1 of the 2 replicas" in note for note in seen.notes)


def test_gpus_that_are_slowed_down_are_named() -> None:
    def gpu(i: int) -> str:
        return f'UUID="GPU-{i}",gpu="{i}",Hostname="node-1"'

    lines = [f"DCGM_FI_DEV_POWER_USAGE{{{gpu(i)}}} 300" for i in range(8)]
    for slow in ((3,), (0, 5), (0, 1, 2, 3, 4)):
        masks = [f"DCGM_FI_DEV_CLOCKS_EVENT_REASONS{{{gpu(i)}}} {0x40 if i in slow else 4}" for i in range(8)]
        seen = read(*lines, *masks, selector={"instance": "a:8000"}, gpu_selector={})
        assert seen.number("gpus_throttled") == len(slow)
        (note,) = [note for note in seen.notes if "slowed down" in note]
        assert f"node-1/{slow[0]}" in note
        assert note.startswith("GPU node-1/3 is slowed down" if len(slow) == 1 else f"{len(slow)} GPUs are slowed down")
        assert ("2 more" in note) == (len(slow) == 5)


def test_every_exporter_is_seen_by_each_of_its_names() -> None:
    for vocabulary in gpu_vocabularies().values():
        for name in vocabulary.detect:
            assert [e.vocabulary.id for e in detect_gpus({name})] == [vocabulary.id], name
