"""What can go wrong between us and a source of metrics. Messages are one sentence for the user and hold no credential.

SourceError
├── InvalidAddress      not a URL we can use, or an address that is refused (link-local, cloud metadata)
├── Unreachable         no DNS answer, no connection, TLS failure
├── TimedOut            connected, but no whole answer in time
├── AccessDenied        401 or 403
├── TooManyRequests     429
├── ServerFailed        500 and above
├── Redirected          the answer points to another host, which is not followed
├── UnusableAnswer      an answer that is not what was asked for: HTML, truncated or foreign JSON
├── TooLarge            the answer is larger than the limit
├── QueryRejected       the server understood, and refuses the expression (400, 422)
└── UnusableCredential  a file or environment variable that should hold a credential does not
"""

from __future__ import annotations


class SourceError(Exception):
    """Root of what can go wrong between us and a source of metrics."""


class InvalidAddress(SourceError):
    """Not a URL we can use, or one that is refused."""


class Unreachable(SourceError):
    """No DNS answer, no connection, or a TLS failure."""


class TimedOut(SourceError):
    """Connected, but no whole answer in time."""


class AccessDenied(SourceError):
    """The server wants other credentials."""


class TooManyRequests(SourceError):
    """The server asks for fewer requests."""


class ServerFailed(SourceError):
    """The server failed."""


class Redirected(SourceError):
    """The answer points to another host."""


class UnusableAnswer(SourceError):
    """The answer is not what was asked for."""


class TooLarge(SourceError):
    """The answer is larger than the limit."""


class QueryRejected(SourceError):
    """The server understood, and refuses the expression."""


class UnusableCredential(SourceError):
    """A credential that was announced cannot be read."""
