"""How engines that evict admit requests: what they keep free of the KV cache for tokens yet to be generated."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Promises:
    """Shares of the answer to come for which there must be room when a request is admitted.

    ``of_new``: of its own answer, ``most_tokens`` of it at most; ``of_running``: of what those admitted before have yet
    to generate. Both 0: a request is admitted once its prompt fits.
    """

    of_new: float = 0.0
    of_running: float = 0.0
    most_tokens: float = math.inf


NO_PROMISES = Promises()
"""What an engine keeps free that admits every request whose prompt fits."""
