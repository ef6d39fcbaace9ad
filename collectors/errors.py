"""Everything that can go wrong in collectors and is expected to; the message is one sentence (or more) for a person.

CollectorsError
├── SourceError                  between us and a source of metrics; the message holds no credential
│   ├── InvalidAddress           not a URL we can use, or an address that is refused (link-local, cloud metadata)
│   ├── Unreachable              no DNS answer, no connection, TLS failure
│   ├── TimedOut                 connected, but no whole answer in time
│   ├── AccessDenied             401 or 403
│   ├── TooManyRequests          429
│   ├── ServerFailed             500 and above
│   ├── Redirected               the answer points to another host, which is not followed
│   ├── UnusableAnswer           an answer that is not what was asked for: HTML, truncated or foreign JSON
│   ├── TooLarge                 the answer is larger than the limit, or what is to be kept of many
│   ├── QueryRejected            the server understood, and refuses the expression (400, 422)
│   └── UnusableCredential       a file or environment variable that should hold a credential does not
├── HubError                     between us and the Hugging Face hub
│   ├── InvalidModelId           the id is not of the form organisation/model
│   ├── HubUnreachable           no connection, no DNS answer, or too slow
│   ├── ModelNotFound            the hub has no such model, or no config.json in it
│   ├── ModelNotAccessible       gated or private: a token and the accepted licence are needed
│   └── NotAConfig               the hub answered with something that is not a config.json
└── BadInput (ValueError)        what was given to us cannot be read
    ├── InvalidSource            a source file; one sentence per problem
    ├── BrokenPage               a metrics page; names the line
    ├── UnsupportedExpression    PromQL that our own evaluator does not answer
    ├── BadRow                   one row of a benchmark file; becomes a RowError where the rows are collected
    └── BenchmarkFileError       a benchmark file as a whole
        └── NotAResultFile       a file that holds no result of a run (a log, server metrics, a list of raw requests)
"""

from collections.abc import Sequence

from commandline.foreign_text import printable


class CollectorsError(Exception):
    """Root of what can be expected to go wrong here."""

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))  # some messages quote what stands in a file or an answer


class SourceError(CollectorsError):
    """Root of what can go wrong between us and a source of metrics."""


class InvalidAddress(SourceError):
    """Not a URL we can use, or one that is refused."""


class Unreachable(SourceError):
    """No DNS answer, no connection, or a TLS failure."""


class TimedOut(SourceError):
    """Connected, but no whole answer in time."""


class AccessDenied(SourceError):
    """The server refuses the credentials, or wants some (HTTP 401 or 403)."""


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


class HubError(CollectorsError):
    """Root of what can go wrong between us and the Hugging Face hub."""


class InvalidModelId(HubError):
    """The id cannot be a model on the hub."""


class HubUnreachable(HubError):
    """The hub cannot be reached from here."""


class ModelNotFound(HubError):
    """The hub does not hold this model or its config.json."""


class ModelNotAccessible(HubError):
    """The model is gated or private."""


class NotAConfig(HubError):
    """The hub answered, but not with a config.json."""


class BadInput(CollectorsError, ValueError):
    """Root of what is wrong with files, pages and expressions given to us."""


class InvalidSource(BadInput):
    """The source file is malformed. ``problems`` holds one clear sentence per fault."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(printable(problem) for problem in problems)
        super().__init__("\n".join(self.problems))


class BrokenPage(BadInput):
    """The page is not in a metrics format."""


class UnsupportedExpression(BadInput):
    """The expression is not PromQL, or uses a part of it that direct scraping does not answer."""


class BadRow(BadInput):
    """One row cannot be used."""


class BenchmarkFileError(BadInput):
    """The file as a whole cannot be read."""


class NotAResultFile(BenchmarkFileError):
    """The file is not the result of a benchmark run."""
