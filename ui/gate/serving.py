"""How this server is set up, as the gate has to know it; and the refusal to start carelessly."""

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from sharing.access import LOCAL_NAMES
from sharing.access.rules import file_of_rules, read_rules
from sharing.errors import InvalidRules
from sharing.settings import InvalidSettings, Settings, read_settings

LOGIN_S = 24 * 3600
"""How long a browser keeps a login at most where the rules give no ``session_minutes``. Chosen: a day of work;
Streamlit keeps it for 30 days."""


@dataclass(frozen=True, kw_only=True)
class ServerSetup:
    """Names that the server answers for, whether browsers reach it by TLS, and its settings."""

    names: frozenset[str]
    by_tls: bool
    settings: Settings

    def login_s(self) -> int:
        """Seconds that a browser may keep a login, as the rules are now."""
        try:
            file = file_of_rules()
            minutes = _minutes_in(file, file.stat().st_mtime_ns) if file else None
        except (InvalidRules, OSError):
            minutes = None  # and nobody gets in
        return LOGIN_S if minutes is None else int(minutes * 60)


@lru_cache(maxsize=4)
def _minutes_in(file: Path, changed_at: int) -> float | None:
    return read_rules(file).session_minutes


def serving() -> ServerSetup:
    """How this process is set up. Raises InvalidSettings, for a set-up that would open everything to others as well."""
    settings = read_settings()
    redirect = urlsplit(redirect_uri())
    names = LOCAL_NAMES | set(settings.hosts) | ({redirect.hostname} if redirect.hostname else set())
    if not asks_for_login():
        _refuse_carelessness(str(st.get_option("server.address") or "0.0.0.0"), settings)
    by_tls = redirect.scheme == "https" or bool(st.get_option("server.sslCertFile"))
    return ServerSetup(names=frozenset(names), by_tls=by_tls, settings=settings)


def redirect_uri() -> str:
    """Where a login leads back to; empty without one."""
    if not st.secrets.load_if_toml_exists() or "auth" not in st.secrets:
        return ""
    return str(st.secrets["auth"].get("redirect_uri", ""))


def asks_for_login() -> bool:
    """Whether nobody gets in without a login; also where the secrets cannot be read, and nobody gets in at all."""
    if st.secrets.load_if_toml_exists():
        return "auth" in st.secrets or file_of_rules() is not None
    return file_of_rules() is not None or any(Path(file).exists() for file in st.get_option("secrets.files"))


def _refuse_carelessness(address: str, settings: Settings) -> None:
    """Raises InvalidSettings where others reach this server and nobody has to log in, unless that was asked for."""
    others = [name for name in (address, *settings.hosts) if not is_local(name)]
    if others and settings.without_login != "yes":
        raise InvalidSettings(
            f"{others[0]} can be reached by others, and nobody has to log in: whoever reaches it would see, change and "
            "delete everything. Ask for a login (docs/ACCESS.md), or set SIZING_WITHOUT_LOGIN=yes."
        )


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
