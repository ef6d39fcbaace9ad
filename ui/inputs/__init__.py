"""The form: four groups, the six questions visible, the rest one click away."""

from ui.inputs.groups import draw, draw_presets

__all__ = ["draw", "draw_presets"]
