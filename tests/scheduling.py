"""Which process of ``pytest -n`` runs which tests."""

from xdist.scheduler import LoadFileScheduling

JOURNEYS = "tests/e2e"


class JourneysTogether(LoadFileScheduling):
    """A file is one process's, and so are all journeys: one dashboard and one browser are started, not one in each."""

    def _split_scope(self, nodeid: str) -> str:
        return JOURNEYS if nodeid.startswith(f"{JOURNEYS}/") else super()._split_scope(nodeid)
