"""What every page has around it and in it: the way in, header, footer, charts with their tables, parts that refresh."""

from ui.shell.charts import (
    CONFIG,
    PERCENT,
    draw_chart,
    draw_csv,
    draw_rows,
    draw_table,
    draw_wrapped,
    grouped,
    in_percent,
    make_room_for_legend,
)
from ui.shell.controls import draw_choice, draw_download, draw_figure, draw_number, draw_tabs
from ui.shell.frame import (
    GOTO,
    chip,
    draw_navigation,
    draw_problems,
    footer,
    header,
    is_asked_for,
    page_address,
    require,
)
from ui.shell.money import WITHHELD, chosen_currency, draw_currency, draw_own_prices, withhold
from ui.shell.notes import draw_link_notes
from ui.shell.presenting import draw_looks, draw_present, draw_presented_header, is_presenting
from ui.shell.progress import progress_bar, refreshed
from ui.shell.window import is_narrow, on_a_phone, watch_window
