"""What a login provider says of somebody: the claims of their ID token, which it has signed."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

Claims = Mapping[str, Any]

NAME_LENGTH = 120
"""Characters of a name that the history keeps; longer ones are cut."""


def verified_email(claims: Claims) -> str:
    """The e-mail address, if the provider has verified it; empty otherwise: anybody could have typed one."""
    email = claims.get("email")
    return email.strip() if isinstance(email, str) and claims.get("email_verified") in (True, "true") else ""


def name_of(claims: Claims) -> str:
    """How the history names somebody: by the verified address, else by what the provider calls them.

    The latter anybody may have chosen, another's address even: a few digits tell one account from another.
    """
    named = (claims.get(key) for key in ("preferred_username", "name"))
    called = next((text for text in named if isinstance(text, str) and text.strip()), "")
    name = verified_email(claims) or f"{_printable(called)[: NAME_LENGTH - 12]} #{_digits(claims)}"
    return _printable(name)[:NAME_LENGTH]


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text).strip()


def _digits(claims: Claims) -> str:
    """Eight digits of the account: the provider's own name of it, and the provider."""
    account = f"{claims.get('iss')} {claims.get('sub')}"
    return hashlib.sha256(account.encode()).hexdigest()[:8]


def login_of(claims: Claims) -> str:
    """What tells one login from another, of the same account as well: a digest of 64 hexadecimal digits."""
    parts = [str(claims.get(key)) for key in ("iss", "sub", "iat", "sid", "jti")]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def claim_values(claims: Claims, path: str) -> tuple[str, ...]:
    """The texts of a claim: a claim of that name, else one within others by a path such as realm_access.roles."""
    value: Any = claims.get(path)
    if value is None:
        value = claims
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        return (value,)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list | tuple) else ()


def ends_at(claims: Claims, session_minutes: float | None) -> datetime:
    """When the login ends: as the provider says, or so long after it; at once where neither can be known."""
    issued, expires = claims.get("iat"), claims.get("exp")
    if session_minutes is not None and _is_moment(issued):
        return _moment(issued) + timedelta(minutes=session_minutes)
    return _moment(expires) if session_minutes is None and _is_moment(expires) else datetime.min.replace(tzinfo=UTC)


def _is_moment(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e11


def _moment(value: Any) -> datetime:
    return datetime.fromtimestamp(value, UTC)
