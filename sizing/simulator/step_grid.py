"""Step times of one configuration, computed once for every batch size and context the simulator can meet."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog.model import Model
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.speculation import Speculation
from sizing.steps.attention import LONGEST, index_pair_s, pair_s, reads_all_entries, sparse_pair_s, state_token_s
from sizing.steps.rates import Rates
from sizing.steps.roofline import Roofline, decode_step_s, launch_s, pass_s, roofline
from sizing.steps.shape import Shape, shape_of
from sizing.steps.speculation import own_rows_s, rows_s, verification_s
from sizing.steps.times import StepTimes

FIRST_KNOT, LAST_KNOT = 64.0, 2.0**21
"""Contexts between which the grid has knots, doubling from one to the next; outside it goes on in a straight line."""

EVERY_ROW_TO, LAST_ROWS, ROWS_PER_DOUBLING = 16.0, 2.0**20, 8
"""Rows of a step: every number up to the first, then so many knots per doubling, up to the widest step. Chosen: because
matrix times bend most where few rows share the weights; further on so many lines follow the curve closely."""

KEPT_GRIDS = 128
"""Grids kept in memory, 150 KB each at most. Chosen: because a plan simulates up to about a dozen configurations."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StepGrid:
    """Durations in seconds of the steps of one engine.

    ``decode_s`` (S + 1, K): a step that decodes n = 0..S sequences at mean contexts ``knots`` (K,). A step that also
    processes prompt tokens takes longer by ``row_s`` (M,), the time of all matrices and collectives at ``row_knots``
    rows, between the rows without and with them, per attention pair by ``full_pair_s`` (and ``sliding_pair_s``, at most
    ``window`` pairs a token) and per prompt token by ``token_s``. ``lag_s`` (M,) and ``pair_lag`` are what a prompt
    takes from the end of its step to its first token where pipeline stages work beside each other. What prompt tokens
    add is at least ``launch_s``, the host's time to launch their kernels.
    All that is for rows spread evenly over the ``ranks`` of attention-DP. ``own_s`` (M,) is the part of ``row_s`` that
    a rank computes for its own rows; where one has more of the prompt tokens than the others, this part and the pairs
    take as long as if all ranks had as many.
    Equal where all of that is: configurations that differ in nothing that takes time, such as an engine and the product
    that ships it, are simulated once.
    """

    decode_s: Floats
    knots: Floats
    row_knots: Floats
    row_s: Floats
    own_s: Floats
    lag_s: Floats
    pair_lag: float
    launch_s: float
    full_pair_s: float
    sliding_pair_s: float
    window: float
    token_s: float
    source: str
    ranks: int = 1

    @cached_property
    def _content(self) -> bytes:
        content = hashlib.blake2b(digest_size=16)
        for one in fields(self):
            values = np.asarray(getattr(self, one.name))
            content.update(f"{one.name} {values.dtype} {values.shape} ".encode())
            content.update(values.tobytes())
        return content.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StepGrid) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def max_sequences(self) -> int:
        """Largest number of decoding sequences in the grid."""
        return len(self.decode_s) - 1

    def stretched(self, decode: float | Floats, prompt: float) -> StepGrid:
        """Every duration stretched: decode steps by ``decode``, one factor or a column of one per number of sequences,
        prompts by ``prompt``."""
        return replace(
            self,
            decode_s=self.decode_s * decode,
            row_s=self.row_s * prompt,
            own_s=self.own_s * prompt,
            lag_s=self.lag_s * prompt,
            launch_s=self.launch_s * prompt,
            full_pair_s=self.full_pair_s * prompt,
            sliding_pair_s=self.sliding_pair_s * prompt,
            token_s=self.token_s * prompt,
        )

    def with_sequences(self, seconds: float) -> StepGrid:
        """Every step longer by ``seconds`` for each sequence that decodes in it; below 0 shorter."""
        if not seconds:
            return self
        return replace(self, decode_s=self.decode_s + seconds * np.arange(len(self.decode_s))[:, None])

    def fitted_to(self, times: StepTimes, reference: StepTimes, concurrency: Floats) -> StepGrid:
        """The grid with the level of another source: ``times`` over ``reference`` of this configuration (one row each),
        by concurrency (K,) for decode steps, one factor for prompts."""
        ratio = times.decode_s[0] / reference.decode_s[0]
        factor = np.interp(np.arange(len(self.decode_s)), concurrency, ratio)
        prompt = float(times.prefill_work_s[0] / reference.prefill_work_s[0])
        return replace(self.stretched(factor[:, None], prompt), source=times.source)


def roofline_grid(model: Model, row: Configuration, max_sequences: int, *, source: Roofline | None = None) -> StepGrid:
    """The grid of one configuration from the roofline.

    Exact at every number of sequences and at every knot; between knots linear in the context, as the roofline is for
    full attention. Prompt tokens ride along: weights are streamed once for all rows of a step. It knows neither load
    nor lengths, so the grids of the committed fit that were used last are kept.
    """
    if source is None:
        return _committed(model, row, max_sequences)
    return _grid(model, row, max_sequences, source)


@lru_cache(maxsize=KEPT_GRIDS)
def _committed(model: Model, row: Configuration, max_sequences: int) -> StepGrid:
    return _grid(model, row, max_sequences, roofline())


def _grid(model: Model, row: Configuration, max_sequences: int, source: Roofline) -> StepGrid:
    shape, candidates = shape_of(model), table([row])
    speed = source.rates_of(candidates)
    knots, rows = _knots(model), _row_knots()
    parallelism = float(row.pp * row.dp)
    each = rows[None, :] / row.pp
    matrices, own = rows_s(shape, speed, each)[0], own_rows_s(shape, speed, each)[0]
    lag = np.zeros_like(rows)
    if row.pp > 1:  # a prompt passes all stages, alone on its rank
        lone, in_step = (rows_s(shape, speed, at, speed.dp)[0] for at in (rows[None, :], each))
        lag = np.maximum(lone - in_step, 0.0)
    matrices[0] = 0.0  # without rows no weights are streamed
    return StepGrid(
        decode_s=_decode_s(shape, speed, knots, max_sequences, row.speculation),
        knots=knots,
        row_knots=rows,
        row_s=matrices,
        own_s=own,
        lag_s=lag,
        pair_lag=(row.pp - 1.0) * row.dp,
        ranks=row.dp,
        launch_s=float(launch_s(shape, speed)[0, 0]),
        **_pairs(shape, speed, parallelism),
        source=source.source,
    )


def _pairs(shape: Shape, speed: Rates, parallelism: float) -> dict[str, float]:
    """Time of attention per pair of a full layer and of a windowed one, the window, and time per prompt token.

    Sparse layers are windowed ones, whose window is what a query attends to, or take the same time for every token;
    the sliding layers beside them then do too, since their window is soon full.
    """
    times = pair_s(shape, speed), sparse_pair_s(shape, speed), index_pair_s(shape, speed), state_token_s(shape, speed)
    pair, sparse, index, token = (float((speed.scale * np.asarray(each)).max()) / parallelism for each in times)
    full, sliding = pair * float(shape.full_layers) + index, pair * float(shape.sliding_layers)
    token += pair * speed.query_pairs * float(shape.full_layers + shape.sliding_layers)
    if not shape.sparse_flop:
        window = float(np.minimum(shape.window, LONGEST))
        return {"full_pair_s": full, "sliding_pair_s": sliding, "window": window, "token_s": token}
    token += sliding * float(np.minimum(shape.window, LONGEST)) if sliding else 0.0
    if reads_all_entries(shape, speed).all():
        token, sparse = token + sparse * float(shape.attended), 0.0
    return {"full_pair_s": full, "sliding_pair_s": sparse, "window": float(shape.attended), "token_s": token}


def _knots(model: Model) -> Floats:
    """Contexts: 0, then doubling, and where the slope changes: the sliding window, all that sparse layers attend to."""
    doubling = FIRST_KNOT * 2.0 ** np.arange(int(np.log2(LAST_KNOT / FIRST_KNOT)) + 1)
    bends = (model.sliding_window, model.sparse and model.sparse.tokens)
    return np.unique(np.concatenate([[0.0], doubling, [float(bend) for bend in bends if bend]]))


def _row_knots() -> Floats:
    """Rows of a step at which the grid has its times."""
    knots = int(ROWS_PER_DOUBLING * np.log2(LAST_ROWS / EVERY_ROW_TO))
    above = EVERY_ROW_TO * 2.0 ** (np.arange(1, knots + 1) / float(ROWS_PER_DOUBLING))
    return np.concatenate([np.arange(EVERY_ROW_TO + 1.0), above])


def _decode_s(shape: Shape, speed: Rates, knots: Floats, most: int, speculation: Speculation) -> Floats:
    """Decode step by sequences and context; a verification step carries draft + 1 rows per sequence.

    Row 0 is a step without decoding sequences: launches, host time and a row of the output head.
    """
    sequences = np.arange(1.0, most + 1.0)[None, :]
    steps = np.stack([decode_step_s(shape, speed, sequences, float(c))[0] for c in knots], axis=1)
    if speculation.draft_tokens:
        more = [verification_s(shape, speed, sequences, speculation, float(c))[0] for c in knots]
        steps = speculation.step_s(steps, np.stack(more, axis=1))
    idle = float(pass_s(shape, speed)[0, 0])
    return np.vstack([np.full((1, len(knots)), idle), steps])
