"""The form: four groups, the six questions visible, the rest one click away."""

from ui.inputs.faults import Places, draw_faults
from ui.inputs.groups import draw, draw_presets

__all__ = ["Places", "draw", "draw_faults", "draw_presets"]
