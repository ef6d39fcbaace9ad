"""Memory that pages give back stays with the server."""

import ctypes
import os

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Parameters of ``mallopt``. Source: ``malloc.h`` of glibc."""

KEPT_BYTES = 64 * 2**20
"""Free memory that each of the allocator's arenas keeps. Chosen: a plan's tables are less together."""
LARGEST_KEPT_BYTES = 32 * 2**20
"""Larger blocks go back to the system at once: the most that glibc takes on 64 bits."""


def keep_freed_memory() -> bool:
    """Let the C library keep what is freed; whether it does: only glibc can be told.

    By itself it hands the tables of every answer back to the system, which clears each of their pages anew at the next
    answer: 2 to 5 % of a page's time, measured in pairs.
    """
    if "CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", {}):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(MMAP_THRESHOLD, LARGEST_KEPT_BYTES)) and bool(mallopt(TRIM_THRESHOLD, KEPT_BYTES))
