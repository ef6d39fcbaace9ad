"""What an expert prefers where figures are nearly alike, as factors on what is counted: cost, GPUs, latency or power.

A factor says how much more of it the preferred deployment may take and still come first. All are of a deployment by
itself, none of what else there is: so the order stays an order, and what comes first by count x factor never gets
dearer by that measure with a looser limit or less load. Factors multiply.
"""

import numpy as np

from sizing.base.arrays import Counts, Flags, Floats, Rows
from sizing.base.choices import BY_COST
from sizing.calibration.benchmark import calibrated_configuration
from sizing.catalog.engines import engines
from sizing.deployments.candidates import Candidates, linked_gpus, support_factor
from sizing.prices.cost import OptionChoice
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.screen import Evaluated

PER_HALVING = 1.05
"""For every halving (or doubling) of the bytes per weight away from the checkpoint. Chosen: a difference of 5 % is less
than the median error of predicted step times (8.5 %, docs/ACCURACY.md), so nothing says that the converted weights are
cheaper, while it is certain that they are not the model that was published."""

STAGES = 1.3
"""For an instance whose GPUs are pipeline stages. Chosen as :data:`FOR_LITTLE_ROOM`: all but a few published
deployments have one stage wherever the model fits so, and two published runs with more are all that predictions were
held against (docs/ACCURACY.md, "What is extrapolated")."""

APART = 1.1
"""For every doubling of tensor parallelism, or of the ranks that experts are spread over, beyond the GPUs that fast
links join: both exchange in every layer. Chosen: predictions of such runs are
off by 20 % (median, docs/ACCURACY.md), four cards were measured slower than a linked pair, and vLLM's documents advise
against it; fewer, larger cards do without."""

LITTLE_ROOM = 0.10
"""Share of GPU memory that the KV cache has at least in an instance that is not held back. Chosen because activations,
graphs and fragmentation are known to some per cent of memory each (engines keep 5 to 10 % free for the last), so that a
smaller room may turn out to be none."""

FOR_LITTLE_ROOM = 1.3
"""For an instance with less room than :data:`LITTLE_ROOM`. Chosen: as much as may be paid for what is known to run over
what is not."""

CARRIED_OVER, NOT_MEASURED = 1.1, 1.3
"""Where a benchmark is in use: for a neighbour of what it measured, and for what it says nothing of. Chosen: the first
as the 80 % half width of what neighbours do not have in common (1.28 x 0.07, :mod:`sizing.calibration.carried`); the
second as much as may be paid for what is known to run over what is not."""

DRAFTS = 1.0 / 0.9
"""For speculative decoding that nobody asked for. Chosen as :data:`SPLIT`: a draft to choose, load and watch, whose
gain depends on the traffic, is worth it where it saves a tenth."""

ANOTHERS_FORMAT = 1.3
"""For weights in the files of another engine (GGUF outside llama.cpp). Chosen as :data:`FOR_LITTLE_ROOM`: vLLM calls
its reader highly experimental, SGLang lists it without a word more, and who names such a file has its engine."""

HARDLY_ROOM = 0.05
"""Share of GPU memory below which the KV cache may find no room at all: activations and graphs are known no better."""

WEIGHTS_ERROR = 0.05
"""What nine of ten printed sizes of loaded weights are at most off (docs/ACCURACY.md, "Memory at start-up")."""

FOR_HARDLY_ROOM = 2.1
"""For an instance with less room than :data:`HARDLY_ROOM`. Chosen: a little more than the next larger instance takes,
which is mostly twice as large, since an engine that does not start serves nobody."""

SPANS = 1.3
"""For an instance that spans several systems. Chosen as :data:`STAGES`: it stands and falls with each of them and with
the network between, whose throughput no prediction of one system was held against."""

UNSOLD = 4.0
"""For hardware that nobody is known to sell or rent, in a scenario that names none. Chosen as :data:`DOUBTFUL_SPLIT`:
what cannot be ordered is no answer while anything else serves (B100, GH200 of 144 GB, H200 NVL by the hour)."""

SPLIT = 1.0 / 0.9
"""For prefill and decode in instances of their own. Chosen: two pools to size, scale and watch, and a transfer between
them, are worth it where they save a tenth; less is within the error of both predictions."""

DOUBTFUL_SPLIT = 4.0
"""For such pools over PCIe or a plain network between them, or with one instance of a kind. Chosen: so much that they
come first only where they save three quarters of the cost: nobody publishes such deployments."""


def _bytes(row: Configuration) -> float:
    return row.precision.bytes


def of_instances(question: Question, evaluated: Evaluated, rows: Rows) -> Floats:
    """The factor of instances of the candidates at ``rows``, (N,): support, format, stages, room for the KV cache."""
    candidates = evaluated.candidates
    halvings = np.abs(np.log2(candidates.column(_bytes, rows) / question.model.published_format.bytes))
    return np.asarray(
        support_factor(question.model, candidates, rows)
        * PER_HALVING**halvings
        * np.where(candidates.pp[rows] > 1.0, STAGES, 1.0)
        * APART ** np.log2(np.maximum(_exchanging(candidates, rows) / candidates.column(linked_gpus, rows), 1.0))
        * np.where(candidates.column(_in_anothers_format, rows) > 0.0, ANOTHERS_FORMAT, 1.0)
        * _for_room(room(evaluated, rows))
        * np.where(_drafts_unasked(question, evaluated, rows), DRAFTS, 1.0)
        * _measured(question, evaluated, rows)
    )


def _in_anothers_format(row: Configuration) -> float:
    mine = row.precision.id in row.engine.own_formats
    return float(not mine and any(row.precision.id in one.own_formats for one in engines().values()))


def _exchanging(candidates: Candidates, rows: Rows) -> Floats:
    """GPUs of an instance that exchange in every layer, (N,): TP groups, and all ranks where experts are spread."""
    return np.asarray(candidates.tp[rows] * candidates.dp[rows], dtype=np.float64)


def _drafts_unasked(question: Question, evaluated: Evaluated, rows: Rows) -> Flags:
    """Which candidates take drafts that the scenario does not ask for, (N,)."""
    of_all = question.allowed.speculation.draft_tokens > 0
    return np.asarray((evaluated.candidates.draft_tokens[rows] > 0) & (not of_all))


def _measured(question: Question, evaluated: Evaluated, rows: Rows) -> Floats:
    """The factor for what the benchmark of the question measured, (N,): 1 for all where there is none."""
    if calibrated_configuration(question) is None:
        return np.ones(len(rows))
    factor = {"calibration": 1.0, "carried_over": CARRIED_OVER}
    return np.array([factor.get(evaluated.sources[i].kind, NOT_MEASURED) for i in rows])


def of_hardware(question: Question, gpus: Counts, chosen: OptionChoice) -> Floats:
    """The factor of instances of so many ``gpus`` (N,) in what they are bought or rented in (N,): those that span
    several systems, what nobody sells unless it is named, and where cost decides, what is priced on another basis than
    what sellers ask counts as they may ask, so that a price of which that is known comes first within the doubt."""
    spanning = np.where(gpus > chosen.system_gpus, SPANS, 1.0)
    if not question.scenario.deployment.gpus:
        spanning = spanning * np.where(chosen.unsold, UNSOLD, 1.0)
    return spanning * chosen.price_doubt if question.scenario.deployment.objective in BY_COST else spanning


def _for_room(left: Floats) -> Floats:
    """The factor of instances with so much room, (N,)."""
    return np.where(left < HARDLY_ROOM, FOR_HARDLY_ROOM, np.where(left < LITTLE_ROOM, FOR_LITTLE_ROOM, 1.0))


def room(evaluated: Evaluated, rows: Rows) -> Floats:
    """Share of GPU memory that is left for the KV cache of sequences, (N,): beside what windows keep of prompts, and
    where weights take as much more as they may."""
    memory = evaluated.memory
    taken = memory.kv_in_flight[rows] + WEIGHTS_ERROR * memory.weights[rows]
    return np.asarray(np.maximum(memory.kv_available[rows] - taken, 0.0) / memory.capacity[rows])
