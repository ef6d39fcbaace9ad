"""What every page has around it and in it: the way in, header, footer, charts with their tables, parts that refresh."""

from ui.shell.charts import CONFIG, draw_chart, draw_csv, draw_table
from ui.shell.controls import draw_choice, draw_download
from ui.shell.frame import ENTERED, GOTO, chip, draw_problems, footer, header, parameters, require
from ui.shell.money import draw_currency
from ui.shell.navigation import draw_navigation
from ui.shell.own_prices import at_list_prices, draw_own_prices, has_own_prices
from ui.shell.refreshing import refreshed
from ui.shell.tabs import draw_tabs
from ui.shell.window import is_narrow, on_a_phone, watch_window

__all__ = [
    "CONFIG",
    "ENTERED",
    "GOTO",
    "at_list_prices",
    "chip",
    "draw_chart",
    "draw_choice",
    "draw_csv",
    "draw_currency",
    "draw_download",
    "draw_navigation",
    "draw_own_prices",
    "draw_problems",
    "draw_table",
    "draw_tabs",
    "footer",
    "has_own_prices",
    "header",
    "is_narrow",
    "on_a_phone",
    "parameters",
    "refreshed",
    "require",
    "watch_window",
]
