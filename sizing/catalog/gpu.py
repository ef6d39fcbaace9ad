"""One accelerator as the engine sees it."""

from dataclasses import dataclass, field

from sizing.base.choices import FormFactor, HardwareStatus, Market
from sizing.catalog.gpu_families import generation_of, gpu_families


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """Datasheet facts of one accelerator, in bytes, bytes/s, FLOP/s (dense, never sparse) and watts.

    ``link_bytes_per_s`` is the GPU-to-GPU bandwidth in ONE direction inside a scale-up domain of ``domain_gpus`` GPUs;
    beyond the domain, and where there is no NVLink/Infinity Fabric, ``pcie_bytes_per_s`` (one direction) holds. None
    means unknown: such a value is never guessed. ``kernel_tables`` is its name in NVIDIA's kernel tables, "" where they
    have none, ``kernel_tables_engines`` the engines measured there, () for all of them. ``memory_bytes`` is what its
    driver shows, ``visible_bytes`` what of it a program sees and engines take their fraction of, ``visible_setting``
    what of the system gives programs all of it, ``memory_gb`` the gigabytes of its name. ``edition`` tells it from
    others of its product name, which have prices of their own. ``module_w`` is the power of a superchip with its CPU,
    ``tdp_w`` what the GPU alone may draw. ``market`` is whom it is made for. ``named_only`` says that it is considered
    only where a scenario names it: older, rarer or smaller than what is bought for serving today, or not sold yet.
    ``compute_capability`` is NVIDIA's, "" for others. ``slice_of`` is the id of the card that it is a part of, "" for a
    whole one, ``slice_name`` how that is cut, and ``slices_per_card`` into how many of these.
    ``host_gpus``: of a TPU, how many a host has at most; a larger slice is of several hosts that run one program.
    ``scores_per_flop``: scores whose softmax it computes for each dense 16-bit FLOP.
    """

    id: str
    name: str
    vendor: str
    architecture: str
    family: str
    form_factor: FormFactor
    memory_gb: float
    memory_bytes: float
    memory_bandwidth: float
    fp16_flops: float | None
    bf16_flops: float | None
    fp8_flops: float | None
    int8_ops: float | None
    fp4_flops: float | None
    link_name: str
    link_bytes_per_s: float | None
    domain_gpus: int
    pcie_bytes_per_s: float
    tdp_w: float | None
    supports_bf16: bool
    supports_fp8: bool
    supports_int8: bool
    supports_fp4: bool
    compute_capability: str = ""
    release_date: str = ""
    source: str = ""
    source_date: str = ""
    notes: str = ""
    custom: bool = False
    edition: str = ""
    market: Market = "datacenter"
    status: HardwareStatus = "sold"
    module_w: float | None = None
    named_only: bool = False
    visible_bytes: float | None = None
    visible_setting: str = ""
    kernel_tables: str = ""
    kernel_tables_engines: tuple[str, ...] = ()
    slice_of: str = ""
    slice_name: str = ""
    slices_per_card: int = 1
    scores_per_flop: float | None = None
    host_gpus: int | None = None
    aliases: tuple[str, ...] = field(default=(), compare=False)

    def __hash__(self) -> int:
        """Of the id, which equal ones share: caches ask for it, of all GPUs together, many times a plan."""
        return hash(self.id)

    @property
    def program_bytes(self) -> float:
        """Memory that a program sees; what the driver shows where nobody printed it."""
        return self.visible_bytes or self.memory_bytes

    @property
    def generation(self) -> str:
        """What engines call its kind of hardware: finer than the family where matrix units differ within one."""
        return generation_of(self.family, self.compute_capability, self.architecture)

    @property
    def processor(self) -> bool:
        """Whether it is a machine that computes in CPU memory, alone or shared with a GPU: counted as one GPU."""
        family = gpu_families().get(self.family)
        return family is not None and family.processor

    @property
    def alone(self) -> bool:
        """Whether an instance has one of it: nothing joins machines without GPUs, or slices, to others."""
        return self.processor or bool(self.slice_of)

    @property
    def sizable(self) -> bool:
        """Whether memory, bandwidth and a 16-bit matrix rate are known, which every estimate needs."""
        return bool(self.memory_bytes and self.memory_bandwidth and (self.fp16_flops or self.bf16_flops))

    @property
    def consumer(self) -> bool:
        """Whether its driver's licence forbids data-centre use (NVIDIA GeForce software licence, section 2.1.3)."""
        return self.market == "consumer" and self.vendor == "NVIDIA"

    @property
    def rented_only(self) -> bool:
        """Whether it exists only inside a cloud provider's data centres (TPU, Trainium, Inferentia, A10G)."""
        return self.vendor in ("Google", "AWS") or "(AWS)" in self.name

    @property
    def has_fast_link(self) -> bool:
        """NVLink, Infinity Fabric or a comparable scale-up link (not PCIe) to at least one neighbour."""
        return self.link_bytes_per_s is not None and self.domain_gpus > 1

    @property
    def linked_gpus(self) -> int:
        """GPUs that fast links join: itself alone where there are none."""
        return self.domain_gpus if self.has_fast_link else 1
