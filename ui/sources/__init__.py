"""Sources of live data that the dashboard knows, and what every viewer of one shares.

``pick`` is the widget; ``observed``, ``over_time`` and ``ask`` answer without blocking the page: one question per
refresh for all viewers, the last good answer kept with its age.
"""

from ui.sources.known import FOLDER_SETTING, TYPED_SETTING, Broken, KnownSource, Listing, Origin, listing
from ui.sources.latest import LatestAnswer
from ui.sources.picker import pick, pick_deployment
from ui.sources.reading import (
    REFRESH_S,
    ask,
    deployments_of,
    good_observation,
    observed,
    over_time,
    per_device,
    serving_costs_of,
    xids_of,
)
