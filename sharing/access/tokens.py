"""Tokens, which open something to whoever holds them: a frozen link to its reader, the HTTP API to a program."""

import hashlib
import secrets

TOKEN_BYTES = 24
"""192 bits, which nobody guesses; 32 signs of an address."""


def new_token() -> str:
    """A token made of signs that an address leaves as they are."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_hash(token: str) -> str:
    """What is kept of a token. It is random, so that no slow hash is needed."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
