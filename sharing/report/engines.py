"""Which engine answered when something was kept, and which answers now."""

from sizing.base.version import ENGINE_VERSION, gives_the_figures_of


def engines(then: str, now: str = ENGINE_VERSION) -> str:
    """One sentence about two versions of the engine, and whether results changed between; empty where both are one.

    ``then`` may be empty, where nothing was answered, or a version that this engine does not know.
    """
    if not then or then == now:
        return ""
    match gives_the_figures_of(then, now):
        case True:
            between = "no results changed between them"
        case False:
            between = "results changed between them"
        case None:
            between = "results may have changed between them, which these versions do not tell"
    return f"Engine {then} answered then and engine {now} answers now; {between}."
