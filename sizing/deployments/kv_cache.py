"""What one sequence holds of the KV cache of a GPU, layer by layer and as the engine pages it.

Layers that attend to everything grow with the sequence, those with a window stop at it, recurrent ones hold a state.
vLLM cuts one pool into pages of equal size: layers are put into groups as large as the rarer kind, the blocks of the
kind with smaller pages hold more tokens, and a state takes whole pages. SGLang keeps a pool for each kind. Sources:
vLLM 0.26.0 and 0.33.0, v1/core/kv_cache_utils.py and v1/kv_cache_interface.py; SGLang 0.5.23, mem_cache; checked
against the concurrency that engines print (``docs/ACCURACY.md``).
"""

import math
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Flags, Floats, Rows
from sizing.catalog.model import Model
from sizing.catalog.precisions import KV_BYTES
from sizing.deployments.candidates import Candidates

INDEX_KEY_BYTES = 132.0
"""A key of a sparse-attention indexer: 128 values of 8 bit and a scale of 4 bytes, whatever the KV format. Source:
DeepSeek-V3.2 in vLLM; 1,284 B a token and layer printed beside a 16-bit latent vector of 1,152."""

PACKED_LATENT_BYTES = 656.0
"""An FP8 latent vector of sparse attention with its scales and 16-bit rotary part (``fp8_ds_mla``), on all GPUs but
data-centre Blackwell, which keeps 576. Source: vLLM, v1/kv_cache_interface.py; printed for GLM-5.1 and V3.2."""

PLAIN_LATENT_GENERATION = "blackwell_10"

CONVOLUTION_BYTES = 2.0
"""A value of a convolution's window, which engines keep in the model's own 16 bit."""

EVEN_KINDS = 1.5
"""Where the more frequent kind of layer has less than this times as many layers as the rarer one, groups are as large
as the former (vLLM 0.26.0, _get_kv_cache_groups_uniform_page_size)."""


@dataclass(frozen=True, kw_only=True)
class KvRows:
    """Bytes on one GPU by kind of layer, (C,): of a token in a layer that attends to everything (``full``) or within
    a window (``window``), and of the ``state`` of a recurrent layer; ``block`` tokens share a page."""

    full: Floats
    window: Floats
    state: Floats
    block: Floats


def kv_rows(model: Model, candidates: Candidates) -> KvRows:
    """Bytes of one token and one state of each kind of layer on one GPU."""
    c = candidates
    each = c.column(lambda r: KV_BYTES[r.kv_precision])
    full = _full_layer_bytes(model, c, each)
    sliding = model.kv_elements_sliding / max(model.sliding_layers, 1)
    window = sliding * each * head_share(model.kv_heads, c.tp, latent=model.attention == "mla")
    return KvRows(
        full=full, window=window, state=state_bytes(model, c), block=c.column(lambda r: r.engine.block_tokens)
    )


def head_share(heads: int, tp: Floats, *, latent: bool = False) -> Floats:
    """Share of the KV heads each GPU of a TP group holds: ceil(heads / TP) / heads; all of MLA's latent vector."""
    return np.ones_like(tp) if latent else np.ceil(heads / tp) / heads


def state_bytes(model: Model, candidates: Candidates) -> Floats:
    """Recurrent state of one layer on one GPU, (C,): its heads are split over TP."""
    if not model.linear_layers:
        return np.zeros(len(candidates))
    wide = _state_value_bytes(model, candidates)
    recurrent = (model.state_elements - model.convolution_elements) * wide
    whole = recurrent + model.convolution_elements * CONVOLUTION_BYTES
    return np.asarray(whole / model.linear_layers / candidates.tp, dtype=np.float64)


def _state_value_bytes(model: Model, candidates: Candidates, rows: Rows | slice = slice(None)) -> Floats:
    """Bytes of a value of recurrent state, (C,) or of some ``rows``."""
    named = model.hf_architecture
    return candidates.column(lambda r: r.engine.state_value_bytes(named), rows, key=("state value", named))


def _window_pool(model: Model, candidates: Candidates) -> Floats:
    """Share of the tokens for which layers with a window have room, (C,); 0 where they have a place for each."""
    named = model.hf_architecture
    return candidates.column(lambda r: r.engine.window_pool(named) or 0.0, key=("window pool", named))


def _full_layer_bytes(model: Model, candidates: Candidates, each: Floats) -> Floats:
    """Bytes of one token in one layer that attends to everything, on one GPU, indexer included."""
    if not model.full_layers:
        return np.zeros(len(candidates))
    sparse = model.sparse
    index = sparse.indexer_elements if sparse else 0.0
    values = (model.kv_elements_full - index) / model.full_layers
    if sparse is not None and model.attention == "mla":
        generation = candidates.column(lambda r: float(r.gpu.generation == PLAIN_LATENT_GENERATION))
        narrow = np.where(generation > 0, values, np.maximum(values, PACKED_LATENT_BYTES))
        keys = INDEX_KEY_BYTES * (sparse.indexer_elements / 128.0) / model.full_layers
        return np.asarray(np.where(each > 1.0, values * each, narrow) + keys, dtype=np.float64)
    share = head_share(model.full_kv_heads or model.kv_heads, candidates.tp, latent=model.attention == "mla")
    return np.asarray(values * each * share + index / model.full_layers * each, dtype=np.float64)


def sequence_bytes(
    model: Model, candidates: Candidates, tokens: float | Floats, beside: float | Floats = 0.0
) -> Floats:
    """KV cache and state of one sequence of ``tokens`` on the fullest GPU, bytes (C,).

    KV = sum over kinds of layers of bytes of a token x tokens kept, in the pages and pools of the engine: all tokens
    where a layer attends to everything, window - 1 + tokens beside where it has a window, one state where it recurs.
    ``beside``: tokens that layers with a window keep beyond it, of steps in flight; engines print how many sequences
    they hold with all of them in each (:func:`in_flight_tokens`), a sequence that decodes has hardly any.
    """
    length = np.broadcast_to(np.asarray(tokens, dtype=np.float64), (len(candidates),))
    rows, stages = kv_rows(model, candidates), np.ceil(model.layers / candidates.pp) / model.layers
    pages = candidates.column(lambda r: float(r.engine.memory.fraction_of == "whole")) > 0
    if model.sparse is not None and model.sparse.ratio > 1:
        return compressed_bytes(model, length, beside) * stages
    if not np.any(pages):
        return pooled_bytes(model, candidates, rows, length) * stages
    paged = paged_bytes(model, candidates, rows, length, beside)
    return (paged if np.all(pages) else np.where(pages, paged, pooled_bytes(model, candidates, rows, length))) * stages


def sent_bytes(model: Model, candidates: Candidates, tokens: float, rows: Rows | slice = slice(None)) -> Floats:
    """Keys, values and state of one sequence in bytes over all GPUs, one copy, (C,) or those of some ``rows``.

    KV = b x (E_full x n + E_window x min(n, window)) + state, where E counts cached values per token over all layers
    of a kind and n the tokens. Source: definition of the KV cache.
    """
    each = candidates.column(lambda r: KV_BYTES[r.kv_precision], rows)
    within = min(tokens, model.sliding_window or math.inf) if model.sliding_layers else 0.0
    wide = _state_value_bytes(model, candidates, rows)
    state = (model.state_elements - model.convolution_elements) * wide + model.convolution_elements * CONVOLUTION_BYTES
    return np.asarray(each * (model.kv_elements_full * tokens + model.kv_elements_sliding * within) + state)


def in_flight_tokens(candidates: Candidates) -> Floats:
    """Tokens of steps that are scheduled but not done, (C,): window layers keep them beyond their window."""
    return candidates.column(lambda r: r.engine.budget(r.gpu) * r.engine.memory.batches_in_flight)


def paged_bytes(model: Model, candidates: Candidates, rows: KvRows, length: Floats, beside: float | Floats) -> Floats:
    """A sequence in one pool of equal pages (vLLM): groups x layers of a group x page x blocks.

    Gemma 3 27B on one GPU: 10 layers attend to everything, 52 within 1,024 tokens: groups of 10, one and six of them;
    8,192 tokens in steps of 8,192 are 10 x 131,072 B x (512 + 6 x 513) = 4.38 GiB, as vLLM 0.19 prints.
    """
    kinds, group = _groups(model)
    page, of_full, of_window = _page(rows, kinds)
    states = candidates.column(lambda r: r.engine.memory.state_blocks)
    kept = np.minimum(length, (model.sliding_window or 0) - 1 + np.maximum(beside, 1.0))
    within = np.where(kept < length, np.ceil(kept / of_window) + 1.0, np.ceil(length / of_window))
    within = np.where(np.asarray(beside) > 0, np.ceil(kept / of_window) + 1.0, within)
    blocks = {"full": np.ceil(length / of_full), "window": within, "state": states}
    total = sum((np.ceil(n / group) * blocks[kind] for kind, n in kinds.items() if n), np.zeros(len(candidates)))
    paged = np.asarray(group * page * total, dtype=np.float64)
    if not (kinds["full"] and kinds["window"]):
        return paged
    every = (kinds["full"] * rows.full + kinds["window"] * rows.window) * np.ceil(length / rows.block) * rows.block
    return np.where(_windows_whole(candidates), every, paged)


def _windows_whole(candidates: Candidates) -> Flags:
    """Where layers with a window keep all tokens, as the others do, (C,)."""
    return candidates.column(lambda r: float(r.engine.memory.windows_whole)) > 0


def _groups(model: Model) -> tuple[dict[str, int], int]:
    """Layers of each kind, and of a group: those of the rarer kind, of the other where both are nearly as many."""
    full = model.full_layers if model.kv_elements_full else 0  # some only reuse what others cache
    kinds = {"full": full, "window": model.sliding_layers, "state": model.linear_layers}
    counts = [n for n in kinds.values() if n] or [1]
    few, many = min(counts), max(counts)
    return kinds, many if many < EVEN_KINDS * few else few


def tokens_by_blocks(model: Model, candidates: Candidates, pool: Floats) -> Floats:
    """Tokens of a ``pool`` (bytes on a GPU, (C,)) as engines print them that count blocks: those of a pool of keys and
    values, in vLLM's one pool divided by the groups of layers."""
    rows = kv_rows(model, candidates)
    stages = np.ceil(model.layers / candidates.pp) / model.layers
    share = _window_pool(model, candidates)
    share = np.where(share > 0.0, share, 1.0)
    apart = (model.full_layers * rows.full + share * model.sliding_layers * rows.window) * stages
    kinds, group = _groups(model)
    groups = sum(math.ceil(n / group) for n in kinds.values() if n)
    page, of_full, of_window = _page(rows, kinds)
    paged = groups * group * page / np.minimum(of_full, of_window) * stages
    one_pool = candidates.column(lambda r: float(r.engine.memory.fraction_of == "whole")) > 0
    one_pool &= ~(_windows_whole(candidates) & bool(kinds["full"] and kinds["window"]))
    return np.asarray(pool / np.maximum(np.where(one_pool, paged, apart), 1.0), dtype=np.float64)


def _page(rows: KvRows, kinds: dict[str, int]) -> tuple[Floats, Floats, Floats]:
    """Bytes of a page, and tokens of a block of layers that attend to everything and of those with a window.

    A state takes one page, so blocks of attention grow until theirs is as large: 16 x ceil(state / (16 x token)).
    """
    token = np.maximum(rows.full if kinds["full"] else 0.0, rows.window if kinds["window"] else 0.0)
    if not kinds["full"] and not kinds["window"]:
        return np.maximum(rows.state, 1.0), rows.block, rows.block
    block = rows.block
    if kinds["state"]:
        block = block * np.maximum(np.ceil(rows.state / (block * token)), 1.0)
    page = block * token
    of_full, of_window = (
        np.where(each > 0, block * np.maximum(np.floor(token / np.maximum(each, 1.0)), 1.0), block)
        for each in (rows.full, rows.window)
    )
    return page, of_full, of_window


def pooled_bytes(model: Model, candidates: Candidates, rows: KvRows, length: Floats) -> Floats:
    """A sequence where every kind of layer has a pool (SGLang, TensorRT-LLM): what it takes of the pool that it fills
    first, as a share of all of them.

    SGLang gives window layers of some classes room for 0.8 of the tokens, of others for all of them, and recurrent
    states 0.9 of the memory of the KV cache, of which a sequence takes three; it fills the larger share of either.
    """
    held = np.ceil(length / rows.block) * rows.block
    window = np.minimum(held, (model.sliding_window or np.inf) + rows.block) if model.sliding_layers else held
    share = _window_pool(model, candidates)
    every = candidates.column(lambda r: float(r.engine.memory.window_pool is not None)) * (share == 0.0)
    window = np.where((every > 0) & (model.full_layers > 0), held, window)
    full, sliding = model.full_layers * rows.full, model.sliding_layers * rows.window
    fixed = (full + share * sliding) * np.maximum(held, window / np.maximum(share, 1e-9))
    exact = full * held + sliding * window
    growing = np.where((share > 0) & (sliding > 0) & (full > 0), fixed, exact)
    states = model.linear_layers * rows.state
    if not model.linear_layers:
        return np.asarray(growing, dtype=np.float64)
    ratio = candidates.column(lambda r: r.engine.memory.state_pool or 0.0)
    copies = candidates.column(lambda r: r.engine.memory.states_per_sequence or 1)
    either = np.maximum(growing * (1.0 + ratio), states * copies * (1.0 + ratio) / np.maximum(ratio, 1e-9))
    return np.asarray(np.where((ratio > 0) & (growing > 0), either, growing + states * copies), dtype=np.float64)


ENTRY_BYTES, INDEX_ENTRY_BYTES = 584, 132
"""A compressed entry of DeepSeek-V4 in FP8 (448 B, 128 B of rotary part, 8 B of scales), and one of its indexer."""
ALIGNED = 576
"""Bytes of which a page of DeepSeek-V4 is a multiple."""
BLOCK, WINDOW_BLOCK, STATE_BLOCKS = 256, 64, (4, 8)
"""Tokens of a block: of compressed layers, of windows, and of the compressors' states by ratio (4, 128)."""


def compressed_bytes(model: Model, length: Floats, beside: float | Floats) -> Floats:
    """A sequence of DeepSeek-V4: blocks of 256 tokens, and what windows and compressors keep of the last ones.

    All groups share one pool whose block has room for the largest: 21 main pages of 64 entries, 21 of the indexer and
    20 of ratio 128 (V4-Flash): 1.0 MB. Windows (64 tokens a block, twice as many layers as a group has) and the states
    of compressors (4 and 8 tokens a block) take a whole block each, which is 0.41 blocks for every token in flight.
    Source: vLLM 0.27.1, kv_cache_utils.py; 6.66 GiB are printed for 30,000 tokens with 16,384 in flight.
    """
    sparse = model.sparse
    assert sparse is not None
    main, index, pooled = (
        np.ceil(count * size / ALIGNED) * ALIGNED
        for count, size in (
            (BLOCK / sparse.ratio, ENTRY_BYTES),
            (BLOCK / sparse.ratio, INDEX_ENTRY_BYTES),
            (BLOCK / sparse.pooled_ratio, ENTRY_BYTES),
        )
    )
    block = sparse.layers * (main + index) + sparse.pooled_layers * pooled
    kept, window = np.maximum(beside, 1.0), float(model.sliding_window or 0)
    groups = np.ceil(model.layers / max(sparse.layers + 1, 1))
    states = (2.0 * sparse.ratio, float(sparse.pooled_ratio))
    blocks = np.ceil(length / BLOCK) + groups * (np.ceil(np.minimum(length, window - 1 + kept) / WINDOW_BLOCK) + 1)
    for tokens, each in zip(states, STATE_BLOCKS, strict=True):
        blocks = blocks + np.ceil(np.minimum(length, tokens - 1 + kept) / each) + 1
    return np.asarray(block * blocks, dtype=np.float64)
