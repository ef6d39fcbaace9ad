"""The dashboard, twice: what ``streamlit run app.py`` serves, as ``python -m ui`` does, and the script of each run.

Streamlit finds the application in here, which serves this same file as its script behind the gate (``ui/gate``).
"""

import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.pages_manager import PagesManager

from sharing.settings import InvalidSettings
from ui import entry
from ui.gate import Gate
from ui.gate.serving import ServerSetup, serving
from ui.observed.log import set_up_log
from ui.place import APP
from ui.work.counted import serve
from ui.work.plans import plans


def set_up() -> ServerSetup:
    """How this server is set up; the process ends with a sentence where it must not start."""
    try:
        return serving()
    except InvalidSettings as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Say where the dashboard answers, and show it to whoever sits before this machine.

    Streamlit's own words are not asked for: to find them it asks a host on the internet for this machine's address.
    """
    set_up_log(SERVING.settings.log)
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    address = f"{scheme}://localhost:{st.get_option('server.port')}/{path}"
    print(f"Dashboard at {address}", flush=True)
    if not st.get_option("server.headless"):
        webbrowser.open(address)
    serve(SERVING.settings)
    yield
    plans().close()


if __name__ == "__main__":
    entry.run()
else:  # imported by the server
    SERVING = set_up()
    # Until the process has met st.navigation, Streamlit would run each file of pages/ as a script of its own, without
    # this one; on the way from there to here, what stands in the fields of a browser whose server has gone is lost.
    PagesManager.uses_pages_directory = False
    app = st.App(APP, middleware=[Middleware(Gate, serving=SERVING)], lifespan=lifespan)
