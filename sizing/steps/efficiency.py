"""Fitted efficiencies of the roofline, by GPU family and engine.

Every family and engine is the default times a factor fitted with shrinkage, so that one with few measurements stays
near its parent and one with none is the parent. See ``docs/ACCURACY.md`` for how they were fitted.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from sizing.catalog.files import read_yaml

REFERENCE_YEAR = 2026.0
"""Decimal year of the software whose speed the fit describes; older software is slower by the fitted ageing rates."""

TODAY = 2026.9
"""Decimal year of the software that is planned for: the versions that ``engines.yaml`` names. As fast as that of
:data:`REFERENCE_YEAR`, but for what engines do by default since (``pieces_since`` there)."""

IN_PIECES = "vllm"
"""The engine whose fitted launches are of steps with prompts that are replayed in captured pieces: it always did so."""


@dataclass(frozen=True, kw_only=True)
class DeviceEfficiency:
    """Shares of datasheet rates reached by kernels of one GPU family, and how its software aged.

    ``matrix_16``, ``matrix_8``, ``matrix_4``: share of the dense matrix rate at 16, 8 and 4 bit; ``memory_16``,
    ``memory_8``, ``memory_4``: share of bandwidth for weights of that width; ``kv``: for the KV cache; ``attention``:
    share of the 16-bit rate in the products of attention; ``link``: share of link bandwidth in collectives; ``layer``:
    factor on fixed times; ``ageing``: growth of device time per year before :data:`REFERENCE_YEAR`, on top of the
    engine's;
    ``wide_ageing``: growth of the time of 16-bit matrix arithmetic beyond that.
    """

    matrix_16: float
    matrix_8: float
    matrix_4: float
    memory_16: float
    memory_8: float
    memory_4: float
    kv: float
    attention: float
    link: float
    layer: float
    ageing: float
    wide_ageing: float


@dataclass(frozen=True, kw_only=True)
class EngineOverhead:
    """Fixed times of one engine in seconds, the factor on device times, and growth per year before the reference.

    ``layer_s``: per layer and step; ``routing_s``: more for a layer with experts; ``latent_s``: more for a layer with
    latent attention (MLA); ``recurrent_s``: more for one with recurrent state; ``eager``: how many times as long the
    host takes for all of these in a step that carries prompt tokens, which no captured graph replays, whatever the GPU;
    ``collective``: factor on the latency of a collective; ``dense_4``: factor on the bandwidth for 4-bit dense weights
    multiplied at 4 bits; ``two_shot_s``: what the second step of an all-reduce in two adds;
    ``step_s``: host, per step; ``sequence_s``: host, per sequence and step;
    ``request_s``: server and client time before the first token, outside the engine's steps, in every protocol;
    ``ageing``: of device times but for 16-bit products of dense weights, which every engine leaves to the vendor's
    library; ``host_ageing``: of host times.
    """

    scale: float
    step_s: float
    layer_s: float
    routing_s: float
    latent_s: float
    recurrent_s: float
    eager: float
    collective: float
    dense_4: float
    two_shot_s: float
    sequence_s: float
    request_s: float
    ageing: float
    host_ageing: float


@dataclass(frozen=True, kw_only=True)
class CommonEfficiency:
    """What is fitted once for all families and engines.

    ``collective_s`` and ``pcie_collective_s``: latency of a collective over two GPUs, growing with the
    ``collective_growth`` power of their number over fast links, with the ``pcie_growth`` power of the number of others
    over PCIe; ``weight_only``: matrix rate of weight-only formats relative to 16 bit (dequantisation) on the H100 SXM,
    from which that of others follows (:meth:`Efficiencies.widened_rate`); ``expert_matrix`` and ``expert_memory_16``,
    ``_8``, ``_4``: rates of expert matrices relative to dense ones, the latter by the width of the weights;
    ``imbalance``: load of the busiest expert group relative to the mean; ``evenness``: shape of the gamma distribution
    of how popular experts are;
    ``power``: exponent of watts per 16-bit FLOP/s, relative to the H100 SXM, in the share of the matrix rate that is
    sustained: dense products draw so much that the power limit lowers the clock; ``power_within`` the same of a GPU
    relative to the reference of its family; ``matrix_ageing``: growth of the time of 16-bit products per year that the
    vendor's library was younger than mature; ``activation_passes`` and
    ``expert_passes``: reads and writes of a value between two products, and of the row of a chosen expert;
    ``latent_ageing`` and ``fixed_ageing``: growth of the fixed times of MLA and of layers per year of age of the
    software.

    ``sampling_passes``: reads and writes of a 32-bit logit by the sampler; ``rank_sequence_s``: what each doubling of
    the GPUs of a TP group adds per sequence and step (their logits gathered, their workers told);
    ``sparse_attention``: rate of attention to chosen entries in prompts relative to dense attention;
    ``query_pairs``: pairs that take as long as what a query of a prompt takes in a layer beyond its own;
    ``prompt_token_s``: host time per prompt token before the engine has it;
    ``first_token_steps``: decode steps of the sequences that run beside it that a first token takes beyond the one that
    computes it and the rest of that in which its request came: schedulers plan a step before the last one has ended.
    """

    collective_s: float
    pcie_collective_s: float
    collective_growth: float
    pcie_growth: float
    sampling_passes: float
    rank_sequence_s: float
    weight_only: float
    expert_matrix: float
    expert_memory_16: float
    expert_memory_8: float
    expert_memory_4: float
    imbalance: float
    evenness: float
    power: float
    power_within: float
    exposed_16: float
    exposed_8: float
    exposed_4: float
    activation_passes: float
    expert_passes: float
    matrix_ageing: float
    attention_ageing: float
    latent_ageing: float
    fixed_ageing: float
    sparse_attention: float
    query_pairs: float
    prompt_token_s: float
    first_token_steps: float


@dataclass(frozen=True, kw_only=True)
class PlatformFactor:
    """How one engine differs on one GPU family from engine and family alone: factors on device and on fixed times."""

    device: float = 1.0
    fixed: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Efficiencies:
    """Everything fitted, and the note that names the fit in every answer; ``widened``: matrix rate of weight-only
    formats relative to 16 bit of families, and of engines on them, that were measured by themselves."""

    families: Mapping[str, DeviceEfficiency]
    engines: Mapping[str, EngineOverhead]
    platforms: Mapping[str, PlatformFactor]
    common: CommonEfficiency
    note: str
    widened: Mapping[str, float] = field(default_factory=dict)

    def device(self, family: str) -> DeviceEfficiency:
        """Efficiency of a GPU family; families without measurements use the default, their parent."""
        return self.families.get(family, self.families["default"])

    def overhead(self, engine: str) -> EngineOverhead:
        """Overhead of an engine; engines without measurements use the default."""
        return self.engines.get(engine, self.engines["default"])

    def widened_rate(self, engine: str, family: str, products_per_lane: float) -> float:
        """Matrix rate of weight-only formats relative to 16-bit weights on a GPU: 1 / sqrt(1 + (1 / r^2 - 1) p^2).

        Plain lanes widen the weights while matrix units multiply them, and neither hides the other wholly. ``r`` is the
        fitted rate on the H100 SXM, ``p`` the GPU's products in the time that its lanes take for one instruction,
        relative to it (:func:`sizing.steps.hardware.products_per_lane`): the faster the matrix units beside the lanes,
        the more widening holds them back. Source: Marlin beside 16-bit weights, 1,024 and more rows a step: 0.61 on an
        A100 (p = 0.7; vLLM, pull request 2497), 0.82 on an RTX 6000 Ada (0.27; IST-DASLab/marlin, issue 21), 0.99 on a
        card of 168 TFLOP/s (0.13; vLLM, pull request 24722); experts of vLLM in NVIDIA's tables (``aisimulate``): 0.83
        on an L40S (0.27), 0.63 on Hopper, 0.45 on the B200 (1.6).
        """
        own = self.widened.get(f"{engine} on {family}", self.widened.get(family))
        return by_lanes(self.common.weight_only, products_per_lane) if own is None else own

    def platform(self, engine: str, family: str) -> PlatformFactor:
        """Factors of an engine on a family; 1 where that pair has not been measured."""
        return self.platforms.get(f"{engine} on {family}", NO_FACTOR)


def by_lanes(on_h100: float, products_per_lane: float) -> float:
    """The rate of :meth:`Efficiencies.widened_rate` by what it is on the H100 SXM."""
    held = math.sqrt(1.0 / min(on_h100, 1.0) ** 2 - 1.0)
    return 1.0 / math.hypot(1.0, held * products_per_lane)


NO_FACTOR = PlatformFactor()


@cache
def efficiencies() -> Efficiencies:
    """The committed fit (``sizing/data/efficiency.yaml``), with that of machines without a GPU of their own
    (``processors.yaml``, by ``calibration/processors.py``)."""
    fit, own = read_yaml("efficiency.yaml"), read_yaml("processors.yaml")
    joined = {name: fit[name] | own[name] for name in ("families", "platforms")}
    return from_mapping(fit | joined | {"widened": own["widened"]})


def from_mapping(raw: Mapping[str, dict[str, dict[str, float]]]) -> Efficiencies:
    """Efficiencies from the parsed file; a family or engine row may leave out what equals the default."""
    families, engines = raw["families"], raw["engines"]
    return Efficiencies(
        families=MappingProxyType({k: DeviceEfficiency(**{**families["default"], **v}) for k, v in families.items()}),
        engines=MappingProxyType({k: EngineOverhead(**{**engines["default"], **v}) for k, v in engines.items()}),
        platforms=MappingProxyType({k: PlatformFactor(**v) for k, v in raw["platforms"].items()}),
        common=CommonEfficiency(**raw["common"]),  # type: ignore[arg-type]
        note=str(raw["fitted"]["note"]),
        widened=raw.get("widened", {}),  # type: ignore[arg-type]
    )
