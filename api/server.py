"""Serving the HTTP API: on this machine only, unless there are rules about who may ask."""

import ipaddress
import os
import socket
from collections.abc import Sequence

import uvicorn

from api.routes import OPENAPI, application
from sharing.access import LOCAL_NAMES
from sharing.access.rules import file_of_rules
from sharing.errors import InvalidRules
from sizing.planning.plan import warm_up


def serve(address: str, port: int, *, hosts: Sequence[str], at_once: int, seconds: float) -> None:
    """Serve until stopped. Raises InvalidRules for an address that others reach where nobody needs a token, OSError for
    one that cannot be listened on."""
    if file_of_rules() is None and not _is_local(address):
        raise InvalidRules(
            f"{address} can be reached by others, and without access.yaml nobody needs a token: see docs/ACCESS.md."
        )
    listening = _listening(address, port)
    warm_up()
    names = LOCAL_NAMES | {host.lower() for host in hosts}
    config = uvicorn.Config(
        application(names, at_once, seconds), log_level="warning", access_log=False, server_header=False, lifespan="off"
    )
    print(f"HTTP API at http://{address}:{listening.getsockname()[1]}{OPENAPI}", flush=True)
    uvicorn.Server(config).run(sockets=[listening])


def _listening(address: str, port: int) -> socket.socket:
    """A socket that listens. Raises OSError that names address and port."""
    try:
        family, *_, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(place[:2], family=family)
    except OSError as error:
        by_name = isinstance(error, socket.gaierror)  # has numbers of its own
        reason = error.strerror if by_name else os.strerror(error.errno or 0)
        raise OSError(error.errno, reason, f"{address}:{port}") from None


def _is_local(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address.lower() == "localhost"
