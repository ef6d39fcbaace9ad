"""What can be expected to go wrong with the library; the message is one sentence for a person, without a password.

SharingError
├── LibraryUnavailable   nothing was saved or read now; the same may work later. ``fault`` says what is the matter
├── NewerLibrary         the database was written by a newer version of the product
├── NotInLibrary         no scenario, or no version of it, has this number
├── NothingToDeploy      a plan without a deployment has no manifests
├── ForeignFolder        a folder that holds something else than what was exported to it before
├── InvalidEntry         a project, tag or author that cannot be kept
├── InvalidRules         the file that says who has which role cannot be used
├── InvalidLink          a live link that does not mean a scenario; ``problems`` has one sentence per fault
├── LinkRefused          a frozen link that shows nothing: ``refusal`` says why
├── StillInUse           a scenario that was not deleted cannot be removed for good
├── AuditUnavailable     an act cannot be written down, and was not done
├── NotAllowed           somebody's role does not include what was to be done; nothing was
└── UnreadableVersion    a stored scenario that this version of the product cannot read

That somebody else has saved meanwhile is no error but an answer: :class:`sharing.library.records.Conflict`.
"""

from __future__ import annotations

from enum import StrEnum


class DatabaseFault(StrEnum):
    """What keeps a database from answering."""

    ADDRESS = "its address cannot be used"
    DRIVER = "the PostgreSQL driver is not installed: pip install -r requirements-postgres.txt"
    UNREACHABLE = "it cannot be opened or reached"
    REFUSED = "it refuses the user or password"
    READ_ONLY = "it can only be read"
    FULL = "its disk is full"
    BUSY = "it is busy with other changes"
    MOVED = "its file was moved or replaced while something was to be kept in it: try again"
    DAMAGED = "its file is damaged or no library"
    FAILED = "it failed"


class SharingError(Exception):
    """Root of what can be expected to go wrong here."""


class LibraryUnavailable(SharingError):
    """The database does not answer, or does not take what is to be kept."""

    def __init__(self, fault: DatabaseFault, place: str) -> None:
        self.fault, self.place = fault, place
        super().__init__(f"The library ({place}) is not available: {fault.value}.")

    def __reduce__(self) -> tuple[type[LibraryUnavailable], tuple[DatabaseFault, str]]:
        """As it was made, for another process."""
        return type(self), (self.fault, self.place)


class AuditUnavailable(SharingError):
    """What was to be done cannot be written down."""


class NewerLibrary(SharingError):
    """Written by a newer version of the product."""


class NotInLibrary(SharingError):
    """Raised where there is no such scenario, or no such version of it."""


class NothingToDeploy(SharingError):
    """Nothing meets the limits, so that there is nothing to write manifests of."""

    def __init__(self) -> None:
        super().__init__("Nothing that was considered meets every limit: there is nothing to deploy.")


class ForeignFolder(SharingError):
    """A folder that must not be written to."""


class InvalidEntry(SharingError, ValueError):
    """Something that cannot be kept as it was given."""


class InvalidRules(SharingError):
    """Nobody's role can be known from this file."""


class LinkRefusal(StrEnum):
    """Why a frozen link shows nothing."""

    UNKNOWN = "unknown"
    REVOKED = "revoked"
    EXPIRED = "expired"
    LOCKED = "locked"
    WRONG_PASSWORD = "wrong password"
    WAIT = "wait"


class InvalidLink(SharingError):
    """A live link that does not mean a scenario. ``problems`` holds one sentence per fault."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class LinkRefused(SharingError):
    """A frozen link that shows nothing."""

    def __init__(self, refusal: LinkRefusal, sentence: str) -> None:
        self.refusal = refusal
        super().__init__(sentence)

    def __reduce__(self) -> tuple[type[LinkRefused], tuple[LinkRefusal, str]]:
        """As it was made, for another process."""
        return type(self), (self.refusal, str(self))


class StillInUse(SharingError):
    """What is to be removed for good was not deleted before, or was restored meanwhile."""


class NotAllowed(SharingError):
    """The role of whoever acts does not include it."""


class UnreadableVersion(SharingError):
    """A stored scenario that cannot be read. ``problems`` holds one sentence per fault."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))
