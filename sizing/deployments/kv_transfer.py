"""How long the KV cache of a prompt takes from a prefill to a decode instance."""

import numpy as np

from sizing.base.arrays import Floats, Rows
from sizing.base.constants import constant
from sizing.base.units import GB
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_families import gpu_families
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.deployments.kv_cache import head_share, sent_bytes
from sizing.question.configuration import Configuration

NETWORK = constant("network_bytes_per_s")
NETWORK_OLDER = constant("network_older_bytes_per_s")
NETWORK_PCIE = constant("network_pcie_bytes_per_s")
SETUP_S = constant("kv_transfer_setup_s")


def has_fast_links(gpu: Gpu) -> bool:
    """Whether NVLink or the like joins the GPUs of a server: a bridge between two cards does not."""
    return gpu.has_fast_link and gpu.domain_gpus >= 4


def network_bytes_per_s(gpu: Gpu) -> float:
    """Network between systems, per GPU and direction."""
    if not has_fast_links(gpu):
        return NETWORK_PCIE
    return NETWORK_OLDER if gpu_families()[gpu.family].older_network else NETWORK


def inside_bytes_per_s(gpu: Gpu) -> float:
    """Link between the GPUs of one system, per GPU and direction: NVLink or the like, else PCIe."""
    return float(gpu.link_bytes_per_s or 0.0) if has_fast_links(gpu) else gpu.pcie_bytes_per_s


def link_name(gpu: Gpu, inside: bool) -> str:
    """The link that moves a KV cache between instances, with its bandwidth per GPU, as the answer names it."""
    if not inside:
        return f"network, {network_bytes_per_s(gpu) * 8e-9:.0f} Gb/s per GPU"
    named = gpu.link_name if has_fast_links(gpu) else "PCIe"
    return f"{named}, {inside_bytes_per_s(gpu) / GB:.0f} GB/s per GPU"


def prompt_kv_bytes(model: Model, candidates: Candidates, tokens: float, rows: Rows | slice = slice(None)) -> Floats:
    """KV cache of a prompt of ``tokens`` tokens in bytes, one copy, (C,), or that of some ``rows``; the recurrent state
    is part of it."""
    return sent_bytes(model, candidates, tokens, rows)


def largest_share(model: Model, candidates: Candidates, rows: Rows | slice = slice(None)) -> Floats:
    """Share of a prompt's KV cache that passes through the busiest GPU of an instance, (C,), or that of some ``rows``:
    split over TP and PP.

    The latent vector of MLA is copied to every GPU of a TP group, each of which receives all of it.
    """
    latent = model.attention == "mla"
    return np.asarray(head_share(model.kv_heads, candidates.tp[rows], latent=latent) / candidates.pp[rows])


def transfer_s(kv_bytes: Floats, share: Floats, bytes_per_s: Floats) -> Floats:
    """set-up + KV bytes x larger share of both instances / link: all GPUs of an instance send and receive at once.

    Source: bytes over bandwidth; set-up of Splitwise (Patel et al., ISCA 2024). Sending layer by layer while the prompt
    is still being computed would hide part of it.
    """
    return np.asarray(SETUP_S + kv_bytes * share / bytes_per_s)


def supports(row: Configuration) -> bool:
    """Whether the engine runs prefill and decode as instances of their own on this GPU."""
    return row.gpu.family in row.engine.disaggregated and not row.gpu.alone
