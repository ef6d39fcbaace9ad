"""Credentials of a source: given directly, from the environment or from a file read anew for every request.

Secrets never show: their repr is asterisks, and no error message carries one.
"""

import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import requests
from requests.auth import AuthBase

from collectors.errors import UnusableCredential

MAX_SECRET_BYTES = 64 * 1024
"""The largest file with a credential that is read. Chosen: servers refuse longer headers."""


@dataclass(frozen=True, kw_only=True)
class Secret:
    """One secret, from exactly one of ``value``, environment variable ``env`` or ``file`` (read at each use)."""

    value: str | None = field(default=None, repr=False)
    env: str | None = None
    file: Path | None = None

    def __post_init__(self) -> None:
        if sum(given is not None for given in (self.value, self.env, self.file)) != 1:
            raise UnusableCredential("A credential needs exactly one of a value, an environment variable or a file.")

    def __repr__(self) -> str:
        if self.env:
            return f"Secret(env={self.env!r})"
        return f"Secret(file={self.file.name!r})" if self.file else "Secret(***)"

    def reveal(self, environ: Mapping[str, str] = os.environ) -> str:
        """The secret itself. Raises UnusableCredential, naming only where it should have come from."""
        if self.value is not None:
            text = self.value
        elif self.env is not None:
            if self.env not in environ:
                raise UnusableCredential(f"The environment variable {self.env} for the credential is not set.")
            text = environ[self.env]
        else:
            text = self._from_file()
        text = text.strip()
        if not text or not text.isprintable():
            raise UnusableCredential(f"The credential from {self._origin} is empty or holds control characters.")
        return text

    def _from_file(self) -> str:
        assert self.file is not None
        try:
            with self.file.open("rb") as opened:
                return opened.read(MAX_SECRET_BYTES).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            raise UnusableCredential(f"The credential file {self.file.name} cannot be read.") from None

    @property
    def _origin(self) -> str:
        return self.env or (self.file.name if self.file else "the source file")


@dataclass(frozen=True, kw_only=True)
class Tls:
    """Certificates: ``ca_file`` instead of the system's, ``cert_file`` with ``key_file`` to show who we are (mTLS)."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    @property
    def verify(self) -> bool | str:
        """What requests calls verify; there is no switch to turn verification off."""
        return str(self.ca_file) if self.ca_file else True

    @property
    def cert(self) -> tuple[str, str] | str | None:
        """The client certificate, with its key, as the library requests takes it under ``cert``."""
        if self.cert_file is None:
            return None
        return (str(self.cert_file), str(self.key_file)) if self.key_file else str(self.cert_file)


@dataclass(frozen=True, kw_only=True)
class Access:
    """How to identify ourselves: ``username`` with ``password``, or bearer ``token``; extra ``headers``; ``tls``."""

    username: str | None = None
    password: Secret | None = None
    token: Secret | None = None
    headers: Mapping[str, Secret] = field(default_factory=dict)
    tls: Tls = field(default_factory=Tls)


class RequestCredentials(AuthBase):
    """Puts the credentials on a request at the moment it is sent; also keeps requests from using ~/.netrc."""

    def __init__(self, access: Access, reveal: Callable[[Secret], str] = Secret.reveal) -> None:
        self._access = access
        self._reveal = reveal

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """The request with its credentials."""
        for name, secret in self._access.headers.items():
            value = self._reveal(secret)
            if not value.isascii():
                raise UnusableCredential(f"The value of the header {name} holds more than ASCII characters.")
            request.headers[name] = value
        if self._access.token is not None:
            token = self._reveal(self._access.token)
            if not token.isascii():
                raise UnusableCredential("The bearer token holds more than ASCII characters.")
            request.headers["Authorization"] = f"Bearer {token}"
        elif self._access.username is not None:
            password = self._reveal(self._access.password) if self._access.password else ""
            pair = f"{self._access.username}:{password}".encode()
            request.headers["Authorization"] = f"Basic {b64encode(pair).decode()}"
        return request

    def __repr__(self) -> str:
        return "RequestCredentials(***)"
