"""``inference-sizing``, the command of the installed package: every command of ``python -m sizing``, the dashboard, and
the servers for programs (``api``)."""

import argparse
import sys
from collections.abc import Sequence

from api.cli import MALFORMED, add_commands
from commandline.run import Commands
from sizing import cli


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0, 1 where ``plan --check`` fails, 2 on bad input."""
    return cli.main(arguments, program="inference-sizing", others=(_add_dashboard, add_commands), malformed=MALFORMED)


def _add_dashboard(commands: Commands) -> None:
    run = commands.add_parser("run", aliases=["ui"], help="serve the dashboard, as make run does in a checkout")
    run.add_argument("--port", default="8501", help="port to listen on (default 8501)")
    run.add_argument("--address", default="localhost", help="address to listen on (default: this machine only)")
    run.add_argument("options", nargs="*", metavar="-- OPTION", help="options of streamlit run, after two hyphens")
    run.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from ui.__main__ import main as serve

    serve(["--server.port", given.port, "--server.address", given.address, *given.options])
    return 0


if __name__ == "__main__":
    sys.exit(main())
