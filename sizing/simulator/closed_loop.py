"""A closed loop on one replica: so many users, each of whom sends the next request when the last one has ended."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.simulator.arrivals import requests
from sizing.simulator.entry import run_closed
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import CACHED_ROW, PROMPT_ROW, TIME_ROW
from sizing.simulator.pool import MeasuredSpan, SimulatedFleet


def closed_loop(replica: Replica, lengths: Floats, users: int) -> NDArray[Any]:
    """Records (N,) of all requests that ended, in the order in which they did; ``lengths`` (4, N) are prompt, output,
    cached tokens and group of each, in the order in which they are sent.

    All users begin at once, on an empty engine, and stop when the N requests are through: what is measured has the
    start, in which they queue, and the end, when most of them have left. The front end takes requests one by one, as
    long as the mean prompt takes it, so that those who send at the same time do not begin in the same step.
    """
    number = lengths.shape[1]
    users = min(users, number)
    chunk = requests(np.zeros(number), lengths)
    each_s = replica.prompt_token_s * float(np.mean(chunk[PROMPT_ROW] - chunk[CACHED_ROW]))
    chunk[TIME_ROW, :users] = replica.request_s + each_s * np.arange(1.0, users + 1.0)
    pool = SimulatedFleet(Fleet(replicas=(replica,)), MeasuredSpan(expected=number, horizon_s=1.0, keep_records=True))
    pool.make_room(number)
    pool.state["pausing"] = 1
    run_closed(pool.world, chunk, users, replica.request_s, each_s)
    return pool.world.records[: int(pool.state["records"])]
