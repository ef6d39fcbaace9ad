"""The names by which this server is called, and whether it can be reached from elsewhere."""

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit


def is_local(name: str) -> bool:
    """Whether a name or an address is this machine's alone."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.casefold() == "localhost"


def called(host: str) -> str | None:
    """The name in a Host header, in small letters; None for a header that is none."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # a number within its range
    except ValueError:
        return None
    plain = not (parts.username or parts.password or parts.path or parts.query or parts.fragment or "@" in host)
    return parts.hostname.rstrip(".") or None if plain and parts.hostname else None


def is_allowed(host: str, names: Collection[str], own_address: str) -> bool:
    """Whether a Host header names this server: one of its names, or the address at which the request arrived, which
    no page of another site can have as its name."""
    name = called(host)
    return name is not None and (name in names or name == own_address)
