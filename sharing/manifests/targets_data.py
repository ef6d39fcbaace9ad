"""What is known of the targets and may change with any release: images, resource names, ports, and their traps."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from sizing.catalog.files import read_yaml
from sizing.catalog.gpu import Gpu

FILE = Path(__file__).parent / "data" / "targets.yaml"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AcceleratorVendor(_Frozen):
    """Accelerators of one vendor: the resource that Kubernetes schedules them by, and the image of each engine.

    ``label`` is that of nodes which names their product, ``products`` its values by the id of a GPU.
    """

    resource: str
    label: str
    products: Mapping[str, str]
    images: Mapping[str, str]


class TargetData(_Frozen):
    """A target: title, version that its fields were read of, where, and when; what one gets wrong with it."""

    title: str
    version: str
    source: str
    date: str
    traps: tuple[str, ...] = ()


class TargetsData(_Frozen):
    """The whole file; ``images`` are of what stands beside the engines, ``no_prefix_caching`` has the classes of models
    that an engine, by its id, serves without."""

    hardware: Mapping[str, AcceleratorVendor]
    images: Mapping[str, str]
    dynamo_gpus: Mapping[str, str]
    no_prefix_caching: Mapping[str, tuple[str, ...]]
    targets: Mapping[str, TargetData]


@cache
def targets_data() -> TargetsData:
    """What ``data/targets.yaml`` says, read once."""
    return TargetsData.model_validate(read_yaml(FILE))


def hardware_of(gpu: Gpu) -> AcceleratorVendor | None:
    """What is known of this GPU's vendor; None for one that no target here schedules, and for a custom one."""
    known = None if gpu.custom else targets_data().hardware.get("processors" if gpu.processor else gpu.vendor)
    if known is not None and gpu.processor and gpu.id not in known.products:
        return None  # a Mac or a small machine, on which no Kubernetes runs
    if known is None or not gpu.slice_of:
        return known
    resource = f"nvidia.com/mig-{gpu.slice_name}" if "g." in gpu.slice_name else "nvidia.com/gpu.shared"
    products = {gpu.id: known.products[gpu.slice_of]} if gpu.slice_of in known.products else {}
    return known.model_copy(update={"resource": resource, "products": products})
