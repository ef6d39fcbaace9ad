"""Pages run by ``AppTest`` at the cost that they have in a server."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from unittest import mock

from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

_poll = local_script_runner.require_widgets_deltas


@contextmanager
def as_in_a_server() -> Iterator[None]:
    """What a server does once is done once, and not at every run of a page: looking through all installed packages for
    components, compiling pages. Nor is a running page asked a thousand times a second whether it has ended."""
    with ExitStack() as patches:
        scan = cache(manifest_scanner.scan_component_manifests)
        patches.enter_context(mock.patch.object(manifest_scanner, "scan_component_manifests", scan))
        patches.enter_context(mock.patch.object(local_script_runner, "ScriptCache", cache(ScriptCache)))
        patches.enter_context(mock.patch.object(local_script_runner, "require_widgets_deltas", _wait_for_the_end))
        yield


def _wait_for_the_end(runner: LocalScriptRunner, timeout: float) -> None:
    """Wait until the run has ended. Raises RuntimeError after ``timeout`` seconds."""
    thread = runner._script_thread
    if thread is not None:
        thread.join(timeout)
    if not runner.script_stopped():
        _poll(runner, 0.0)  # which gives up, with its own words
