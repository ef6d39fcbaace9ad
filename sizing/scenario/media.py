"""Images, scanned pages and sound beside the text of a request, as a scenario states them."""

from typing import Annotated

from pydantic import Field

from sizing.scenario.part import ScenarioPart

LONGEST_SIDE = 20_000
"""Pixels of a side of an image. Chosen: far above what any processor keeps."""

MOST_A_REQUEST = 10_000
"""Images or pages of a request. Chosen: their tokens would fill any context window."""

PAGE = (1240, 1754)
"""Pixels of a scanned page: A4 at 150 dots an inch, at which text of 8 points can be read."""

Pixels = Annotated[int, Field(ge=1, le=LONGEST_SIDE)]
PerRequest = Annotated[float, Field(gt=0, le=MOST_A_REQUEST, allow_inf_nan=False)]


class Images(ScenarioPart):
    """Images of one request, in the mean, and the pixels of one."""

    per_request: PerRequest
    width: Pixels = 1024
    height: Pixels = 1024
