"""The fields of the form: one entry per widget, whose key is also the name of its parameter in a link."""

from __future__ import annotations

from ui.form.demand_fields import LIMITS, MODEL, WORKLOAD
from ui.form.field import Field
from ui.form.supply_fields import ASSUMPTIONS, HARDWARE

FIELDS: dict[str, Field] = {f.key: f for f in (*MODEL, *WORKLOAD, *LIMITS, *HARDWARE, *ASSUMPTIONS)}
"""Every field by key, in the order of the form."""

BY_PATH: dict[str, Field] = {f.path: f for f in FIELDS.values() if f.path}
"""Every field by the scenario key that it sets."""

MAY_BE_EMPTY = ("model", "m_sys")
"""Choices without a default: an empty one is for the user to fill in."""

LENGTH_KEYS = ("isl", "osl", "system", "doc", "question")
"""Fields whose unit is the one chosen in "Lengths in"."""
