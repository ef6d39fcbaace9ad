"""Plans on a server: the limits of its settings, and what was asked among Streamlit's own metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamlit.runtime import exists, get_instance
from streamlit.runtime.stats import CounterStat, GaugeStat, Stat

from sharing.settings import Settings
from ui.work.plans import Plans, plans

ASKED, ENDED, WORKERS = "sizing_questions", "sizing_workers_ended", "sizing_workers"


def serve(settings: Settings) -> None:
    """Keep to the settings of a server, and count in ``/_stcore/metrics``; workers start with :meth:`Plans.start`."""
    plans().keep_to(settings)
    if exists():
        get_instance().stats_mgr.register_provider(Counted(plans()))


@dataclass(frozen=True)
class Counted:
    """What was asked of the plans of this process, as metrics."""

    plans: Plans

    @property
    def stats_families(self) -> Sequence[str]:
        """Names of the metrics."""
        return (ASKED, ENDED, WORKERS)

    def get_stats(self, family_names: Sequence[str] | None = None) -> Mapping[str, Sequence[Stat]]:
        """All of them, which costs nothing."""
        counts, (wanted, prepared) = self.plans.counts, self.plans.workers
        answers = {"computed": counts.computed, "kept": counts.kept, "shared": counts.shared}
        meaning = "Plans asked for: computed, kept from before, or shared with a session that asked at the same time."
        return {
            ASKED: [CounterStat(ASKED, value, {"answer": answer}, help=meaning) for answer, value in answers.items()],
            ENDED: [
                CounterStat(ENDED, counts.ended_workers, {"why": "died"}, help="Worker processes that ended."),
                CounterStat(ENDED, counts.given_up, {"why": "time limit"}, help="Worker processes that ended."),
            ],
            WORKERS: [
                GaugeStat(WORKERS, wanted, {"are": "wanted"}, help="Worker processes."),
                GaugeStat(WORKERS, prepared, {"are": "prepared"}, help="Worker processes."),
            ],
        }
