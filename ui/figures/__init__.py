"""Figures: pure functions from an answer to a plotly figure, a table with the same numbers, and one sentence."""

from ui.figures.frontier import build_frontier, frontier_alt_text, frontier_table
from ui.figures.heat_map import build_heat_map, heat_map_alt_text, heat_map_table
from ui.figures.load_curve import build_load_curve, load_curve_alt_text, load_curve_table
from ui.figures.memory import build_memory_bar, memory_alt_text, memory_table
from ui.figures.template import hardware_look
from ui.figures.trade_off import build_trade_off, trade_off_alt_text, trade_off_table

__all__ = [
    "build_frontier",
    "build_heat_map",
    "build_load_curve",
    "build_memory_bar",
    "build_trade_off",
    "frontier_alt_text",
    "frontier_table",
    "hardware_look",
    "heat_map_alt_text",
    "heat_map_table",
    "load_curve_alt_text",
    "load_curve_table",
    "memory_alt_text",
    "memory_table",
    "trade_off_alt_text",
    "trade_off_table",
]
