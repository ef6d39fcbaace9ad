"""Roles and what each may do. The library and every page ask here, and nowhere else."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from sharing.errors import NotAllowed


class Role(StrEnum):
    """What somebody is here, each with all that those before it may do."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"


class Right(StrEnum):
    """What can be done, as the end of "to ..."."""

    READ = "read scenarios"
    SAVE = "save scenarios"
    DELETE = "delete scenarios"
    SHARE = "share scenarios by a link"
    REVOKE = "revoke links"
    CONNECT = "read live data at addresses of their own, and by expressions of their own"
    RESTORE = "restore deleted scenarios"
    PURGE = "remove deleted scenarios for good"
    SEE_ALL_LINKS = "see everybody's links"


LEAST: Mapping[Right, Role] = MappingProxyType(
    {
        Right.READ: Role.VIEWER,
        Right.SAVE: Role.EDITOR,
        Right.DELETE: Role.EDITOR,
        Right.SHARE: Role.EDITOR,
        Right.REVOKE: Role.EDITOR,
        Right.CONNECT: Role.EDITOR,
        Right.RESTORE: Role.ADMIN,
        Right.PURGE: Role.ADMIN,
        Right.SEE_ALL_LINKS: Role.ADMIN,
    }
)
"""The first role that has each right."""

_ORDER = tuple(Role)


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Who does something: the name that the history keeps, and the role; None: somebody without any."""

    name: str
    role: Role | None


def may(role: Role | None, right: Right) -> bool:
    """Whether a role has a right."""
    return role is not None and _ORDER.index(role) >= _ORDER.index(LEAST[right])


def demand(actor: Actor, right: Right) -> None:
    """Raises NotAllowed where the actor lacks the right."""
    if not may(actor.role, right):
        raise NotAllowed(f"{LEAST[right].value.capitalize()} is the role that may {right.value}: {_lacking(actor)}.")


def _lacking(actor: Actor) -> str:
    return f"yours is {actor.role.value}" if actor.role else "you have none"
