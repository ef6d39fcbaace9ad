"""What every page about a scenario has beside its title: the scenario's name, and what can be done with all of it."""

from sharing.access import Right
from ui import shell, state
from ui.access import allowed
from ui.library.export import draw_export
from ui.library.save import draw_save
from ui.library.share import draw_share


def draw_bar() -> None:
    """The chip, then Save for who may, Share, Export and Present."""
    shell.chip(state.value("name"))
    if allowed(Right.SAVE):
        draw_save()
    draw_share()
    draw_export()
    shell.draw_present()
