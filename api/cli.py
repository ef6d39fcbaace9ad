"""Command line: ``python -m api http | mcp | token``. Exit code 0, 2 with one line per problem otherwise."""

import argparse
from collections.abc import Sequence
from importlib.util import find_spec

from commandline.arguments import number, rounded, whole
from commandline.run import Commands, run
from sharing.access import Role
from sharing.access.tokens import new_token, token_hash
from sharing.errors import SharingError
from sizing.base.errors import SizingError

PORT = 8600
"""Where the HTTP API listens. Chosen: beside the dashboard's 8501, and nobody's standard."""


class ServerNotInstalled(Exception):
    """A server whose framework is not there; the message says what installs it."""


MALFORMED = (SizingError, SharingError, ServerNotInstalled)
"""Errors that say what is wrong with the input, or with how the server is set up."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Problems go to stderr, one clear line each, never a traceback."""
    parser = argparse.ArgumentParser(prog="python -m api", description="The engine for other programs.")
    add_commands(parser.add_subparsers(required=True, metavar="COMMAND"))
    return run(parser, arguments, malformed=MALFORMED, nameless="Input or output")


def add_commands(commands: Commands) -> None:
    """The commands, beside others."""
    _add_http(commands)
    mcp = commands.add_parser(
        "mcp", help="serve the engine's tools to an agent: Model Context Protocol, stdin and stdout"
    )
    mcp.set_defaults(run=_mcp)
    token = commands.add_parser("token", help="make a token for a program, and the line that lets it in")
    token.add_argument("--role", choices=[*Role], default=Role.VIEWER, help="what it may do (default viewer)")
    token.set_defaults(run=_token)


def _add_http(commands: Commands) -> None:
    http = commands.add_parser("http", help="serve the HTTP API")
    http.add_argument(
        "--port",
        type=rounded("a port", 0, 65535),
        default=PORT,
        help=f"port to listen on (default {PORT}; 0: a free one)",
    )
    http.add_argument("--address", default="localhost", help="address to listen on (default: this machine only)")
    http.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name under which others reach this server, beside localhost; may be given several times",
    )
    http.add_argument(
        "--at-once", type=whole(1, 64), default=2, metavar="N", help="answers computed at a time (default 2)"
    )
    http.add_argument(
        "--seconds",
        type=number("a number of seconds", 0.1, 3600),
        default=60.0,
        metavar="S",
        help="after which an answer is given up (default 60)",
    )
    http.set_defaults(run=_http)


def _http(given: argparse.Namespace) -> int:
    _need("fastapi", "api")
    from api.server import serve

    serve(given.address, given.port, hosts=given.host, at_once=given.at_once, seconds=given.seconds)
    return 0


def _mcp(given: argparse.Namespace) -> int:
    _need("mcp", "mcp")
    from api.tools import serve

    serve()
    return 0


def _token(given: argparse.Namespace) -> int:
    token = new_token()
    print(f"Token, shown once: {token}")
    print(f"In access.yaml: {given.role}: {{tokens: [{token_hash(token)}]}}")
    return 0


def _need(module: str, extra: str) -> None:
    """Raises NotInstalled where the framework of a server is missing."""
    if find_spec(module) is None:
        raise ServerNotInstalled(
            f"This server needs more: pip install -r requirements-{extra}.txt, or inference-sizing[{extra}]."
        )
