"""What holds for every answer, whatever was asked: what an expert is never seen to offer unasked."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from sizing import Scenario
from sizing.catalog import resolve_gpu
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.evidence.published import evidence_frame
from tests.sizing.panel.answers import Answer
from tests.sizing.panel.support import generations, known_engines, never, status

UNKNOWN_COSTS = 1.3
"""A plan whose support is unknown comes first only where every supported one costs more than 30 % more: asked."""
ABOUT_AS_MUCH = 1.1
"""A simpler layout within this factor of the cost is what an expert takes: the load is known no better. Chosen."""
LEAST_KV_SHARE = 0.05
"""KV cache as a share of GPU memory below which a plan says so: asked."""
LEAST_MEASURED = 10
"""Measurements of a GPU product below which an answer on it is marked: a single source publishes about ten. Chosen."""
FABRIC_FROM = 8
"""GPUs of a system from which it is sold with a fabric between systems; smaller ones, but slices of an NVL72 rack, have
Ethernet: instance types of AWS, Azure, OCI, Lambda and CoreWeave with InfiniBand or EFA for GPUs all have eight."""
RACK_SCALE = frozenset({"gb200", "gb300"})
MARKS = frozenset(
    {"no_evidence", "little_evidence", "gpu_not_measured", "evidence_of_product", "not_measured_here", "processor"}
)
"""Codes of warnings that say that nobody, or hardly anybody, measured this GPU."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A first choice with its question and what the plan lists beside it."""

    scenario: Scenario
    model: Model
    first: Answer
    others: tuple[Answer, ...]

    @property
    def gpu(self) -> Gpu:
        return resolve_gpu(self.first.gpu)

    @property
    def pcie(self) -> bool:
        """Whether the GPUs of an instance speak over PCIe alone."""
        return self.gpu.link_bytes_per_s is None or self.gpu.domain_gpus <= 1

    @property
    def names_gpus(self) -> bool:
        return bool(self.scenario.deployment.gpus)

    def asks_for(self, *names: str) -> bool:
        asked = self.scenario.deployment
        return any(name in {*asked.gpus, *asked.engines, *asked.precisions} for name in names)

    def within(self, factor: float) -> Iterator[Answer]:
        """Alternatives that cost at most so many times the first choice."""
        if self.first.usd is not None:
            yield from (a for a in self.others if a.usd is not None and a.usd <= factor * self.first.usd)

    def status(self, answer: Answer) -> str:
        return status(self.model, gpu=answer.gpu, engine=answer.engine, weights=answer.weights)


@cache
def measurements() -> Counter[str]:
    """Published measurements by GPU product."""
    counts: Counter[str] = Counter()
    for name, rows in evidence_frame()["gpu"].value_counts().items():
        counts[resolve_gpu(str(name)).id] += int(rows)
    return counts


def archived_or_dropped(case: Case) -> Iterator[str]:
    """Archived engines, dropped GPUs, preliminary products and consumer cards."""
    for name, kind in ((case.first.engine, "engines"), (case.first.gpu, "gpus")):
        if name in never()[kind] and not case.asks_for(name):
            yield f"{name}: {never()[kind][name]['why']}"


def unsaid(case: Case) -> Iterator[str]:
    """What is said with the answer: archived engines, dropped GPUs, consumer cards, preliminary products, racks to be
    cooled, and support that nobody documents."""
    first = case.first
    known = [never()["engines"].get(first.engine, {}), never()["gpus"].get(first.gpu, {})]
    codes = [each["says"] for each in known if "says" in each]
    if case.scenario.deployment.location == "on_prem":
        codes += never()["racks"].get(first.gpu, [])
    judged = first.engine in known_engines() and first.gpu in generations() and case.status(first) == "unknown"
    if judged and not codes:  # of what is archived or dropped nothing is documented any more
        codes = ["support_unknown"]
    yield from (f"{first.engine} on {first.gpu}: nothing says {code}" for code in codes if code not in first.warnings)


def unsupported(case: Case) -> Iterator[str]:
    """Combinations that the engine's own documentation refuses, asked for or not."""
    if case.status(case.first) == "no":
        yield f"{case.first.engine} does not run {case.model.id} in {case.first.weights} on {case.first.gpu}"


def unknown_before_supported(case: Case) -> Iterator[str]:
    """What nobody documents, although a supported plan costs little more."""
    if case.status(case.first) != "unknown":
        return
    known = next((a for a in case.within(UNKNOWN_COSTS) if case.status(a) == "supported"), None)
    if known is not None:
        yield f"support is unknown, and this is supported: {known}"


def lossy_format(case: Case) -> Iterator[str]:
    """Four bits with loss, where neither the checkpoint nor the customer has them."""
    weights = case.first.weights
    own = case.model.native_precision
    if weights in never()["formats"] and weights != own and not case.asks_for(weights):
        yield f"{weights} unasked, the checkpoint is {own}: {never()['formats'][weights]['why']}"


def no_fabric(case: Case) -> Iterator[str]:
    """An instance over several systems that have no fabric between them."""
    first = case.first
    small = first.in_a_system < FABRIC_FROM and first.gpu not in RACK_SCALE
    if small and first.largest_instance > first.in_a_system:
        yield f"an instance of {first.largest_instance} GPUs over systems of {first.in_a_system}, without a fabric"


def pipeline_over_pcie(case: Case) -> Iterator[str]:
    """Pipeline stages over PCIe, although a plan without them costs about as much; four stages without need. llama.cpp
    splits by layer unless told otherwise (docs/multi-gpu.md)."""
    if not case.pcie or case.first.pp == 1 or case.scenario.deployment.pp or case.first.engine == "llamacpp":
        return
    simpler = next((a for a in case.within(ABOUT_AS_MUCH) if a.pp == 1), None)
    if simpler is not None:
        yield f"PP{case.first.pp} over PCIe, and this costs about as much: {simpler}"
    elif case.first.pp >= 4 and not case.names_gpus:
        yield f"PP{case.first.pp} over PCIe unasked: nobody measured or recommends it"


def apart_over_pcie(case: Case) -> Iterator[str]:
    """Prefill and decode apart where the KV cache would cross PCIe."""
    if case.first.apart and case.pcie and "disaggregated" not in case.scenario.deployment.serving:
        yield "prefill and decode apart over PCIe"


def no_room_for_kv(case: Case) -> Iterator[str]:
    """Hardly any memory left for the KV cache, and nothing said of it."""
    share = case.first.kv_share
    if share is not None and share < LEAST_KV_SHARE and not any("kv_room" in c for c in case.first.warnings):
        yield f"the KV cache has {share:.1%} of the memory, and nothing says so"


def evidence_unmarked(case: Case) -> Iterator[str]:
    """A GPU that hardly anybody measured, and nothing said of it."""
    rows = measurements()[case.first.gpu]
    if rows < LEAST_MEASURED and not MARKS & case.first.warnings:
        yield f"{rows} measurements of {case.first.gpu}, and nothing says so"


def mislabelled(case: Case) -> Iterator[str]:
    """A cloud instance whose GPU is another than that of the plan."""
    if case.first.system in never()["mislabelled"].get(case.first.gpu, ()):
        yield f"{case.first.system} has the 16 GB edition of {case.first.gpu}"


def other_price_basis(case: Case) -> Iterator[str]:
    """An average selling price beside retail prices, and nothing said of it."""
    bought = case.scenario.deployment.location == "on_prem"
    known = never()["other_basis"].get(case.first.gpu)
    if bought and known and not case.names_gpus and not any("basis" in code for code in case.first.warnings):
        yield f"{known['why']}, and nothing says so"


def no_price(case: Case) -> Iterator[str]:
    """A first choice by cost that nobody knows the price of."""
    if case.first.usd is None and case.scenario.deployment.objective == "cost" and not case.names_gpus:
        yield "first by cost, and without a price"


def link_of_one_gpu(case: Case) -> Iterator[str]:
    """Something about links between the GPUs of an instance that has one GPU."""
    said = {"tp_without_nvlink", "tp_beyond_bridge", "large_model_on_pcie"} & case.first.warnings
    if case.first.largest_instance == 1 and said:
        yield f"{', '.join(sorted(said))} of instances of one GPU"


RULES: tuple[Callable[[Case], Iterator[str]], ...] = (
    archived_or_dropped,
    unsaid,
    unsupported,
    unknown_before_supported,
    lossy_format,
    no_fabric,
    pipeline_over_pcie,
    apart_over_pcie,
    no_room_for_kv,
    evidence_unmarked,
    mislabelled,
    other_price_basis,
    no_price,
    link_of_one_gpu,
)


def broken(case: Case) -> dict[str, list[str]]:
    """The rules that a first choice breaks, by name, with what is wrong."""
    faults = {rule.__name__: list(rule(case)) for rule in RULES}
    return {name: said for name, said in faults.items() if said}
