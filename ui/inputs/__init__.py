"""The form: four groups, the six questions visible, the rest one click away."""

from ui.inputs.groups import draw

__all__ = ["draw"]
