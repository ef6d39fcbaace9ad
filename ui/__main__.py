"""``python -m ui``: the dashboard, with the options of ``streamlit run``; what ``make run`` starts.

Streamlit runs ``app.py`` for the first time once a browser has loaded Streamlit's own programs, about a second after
the server has started. The engine is loaded in that second, in which the server has little else to do.
"""

import gc
import sys
import threading
import time
from collections.abc import Sequence

from streamlit import runtime
from streamlit.web import cli

from ui.place import APP

LOOK_S = 0.01
"""Between two looks for the server. Chosen: nobody notices it, and it costs nothing."""


def load() -> None:
    """Load what the first answer needs. Not before there is a server, which would only start later."""
    while not runtime.exists():
        time.sleep(LOOK_S)
    from ui import state
    from ui.size import page  # noqa: F401 - loading is all that is asked of it

    gc.freeze()  # Streamlit collects after each of the runs that follow; ui.state looks once at all of this, later
    state.warm_up()


def main(options: Sequence[str] | None = None) -> None:
    """Serve, until the server is stopped. ``options`` of ``streamlit run``; None: those of the process."""
    # Looking for garbage among what is being loaded, and stays, is a fifth of the work; ui.state turns it on again.
    gc.disable()
    threading.Thread(target=load, name="load", daemon=True).start()
    given = sys.argv[1:] if options is None else options
    cli.main(["run", str(APP), "--logger.hideWelcomeMessage=true", *given], prog_name="streamlit")


if __name__ == "__main__":
    main()
