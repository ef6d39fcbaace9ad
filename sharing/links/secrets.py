"""The password of a frozen link, where it has one. It is not kept, only what recognises it."""

import hashlib
import hmac
import secrets
import unicodedata

from sharing.errors import InvalidEntry

LONGEST_TOKEN = 200

SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 200
SALT_BYTES = 16
COST = {"n": 2**14, "r": 8, "p": 5}
"""Parameters of scrypt: 16 MiB and some 0.2 s. Source: OWASP, Password Storage Cheat Sheet."""
_MEMORY = 64 * 2**20


def password_hash(password: str) -> str:
    """What is kept of a password. Raises InvalidEntry where it is too short or too long."""
    text = _normal(password)
    if not SHORTEST_PASSWORD <= len(text) <= LONGEST_PASSWORD:
        raise InvalidEntry(f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters.")
    salt = secrets.token_bytes(SALT_BYTES)
    return "$".join(["scrypt", *map(str, COST.values()), salt.hex(), _derived(text, salt, **COST).hex()])


def is_password(password: str, kept: str) -> bool:
    """Whether this is the password, in a time that says nothing about how much of it is right."""
    _, n, r, p, salt, derived = kept.split("$")
    text = _normal(password)
    given = _derived(text[:LONGEST_PASSWORD], bytes.fromhex(salt), n=int(n), r=int(r), p=int(p))
    return hmac.compare_digest(given, bytes.fromhex(derived)) and len(text) <= LONGEST_PASSWORD


def _derived(text: str, salt: bytes, *, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(text.encode("utf-8", "replace"), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY)


def _normal(password: str) -> str:
    """The same password from every keyboard."""
    return unicodedata.normalize("NFKC", password)
