"""How a session stands: who it is, by which role, or why it does not get in. Asked anew in every run.

Whatever cannot be known keeps everybody out: a file of rules or of secrets that is broken, rules without a login.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from sharing.access import Actor, Right, may
from sharing.access.identity import ends_at, name_of
from sharing.access.rules import Rules, file_of_rules, read_rules
from sharing.audit import Act, note
from sharing.author import owner
from sharing.errors import InvalidRules
from ui.access.ended import has_ended, log_out

OPEN_TO_ALL = frozenset({"shared"})
"""Pages that nobody has to log in for: what they show is theirs by a token in their address."""

_NOTED = "noted_as"
"""Session key of who was written down last in the audit log."""

_LOG = logging.getLogger(__name__)


class Standing(StrEnum):
    """Whether a session gets in, and why not."""

    NO_LOGIN_NEEDED = "no login needed"
    IN = "in"
    LOGGED_OUT = "logged out"
    ENDED = "login ended"
    WITHOUT_ROLE = "without a role"
    MISCONFIGURED = "misconfigured"

    @property
    def gets_in(self) -> bool:
        """Whether such a session sees any page that is not open to all."""
        return self in (Standing.NO_LOGIN_NEEDED, Standing.IN)


@dataclass(frozen=True, kw_only=True)
class Who:
    """Who uses a session, and how it stands."""

    standing: Standing
    actor: Actor
    rules: Rules


def who() -> Who:
    """Who uses this session, by what the login provider has signed."""
    try:
        rules, login = _rules(), _login_is_asked_for()
    except InvalidRules as invalid:
        _complain(str(invalid))
        return _out(Standing.MISCONFIGURED, Rules())
    user = st.user.to_dict()
    if not login:
        name = str(user.get("email") or user.get("name") or "")
        return Who(standing=Standing.NO_LOGIN_NEEDED, actor=owner(name), rules=rules)
    if not user.get("is_logged_in"):
        return _out(Standing.LOGGED_OUT, rules)
    return _logged_in(user, rules)


def note_who() -> None:
    """Write down who uses this session by a login, the first time and whenever their role is another one."""
    session = who()
    if session.standing not in (Standing.IN, Standing.WITHOUT_ROLE):
        return
    before: Actor | None = st.session_state.get(_NOTED)
    if before == session.actor:
        return
    st.session_state[_NOTED] = session.actor
    address = str(st.context.ip_address or "")
    if before is not None and before.name == session.actor.name:
        was = before.role.value if before.role else "none"
        note(Act.ROLE_CHANGED, session.actor, f"role, before: {was}", address=address)
    else:
        act = Act.LOGGED_IN if session.standing is Standing.IN else Act.TURNED_AWAY
        note(act, session.actor, "dashboard", address=address)


def end() -> None:
    """Log out: this login gets nobody in any more (for callbacks)."""
    session = who()
    note(Act.LOGGED_OUT, session.actor, "dashboard")
    log_out(ends_at(st.user.to_dict(), session.rules.session_minutes))


def standing() -> Standing:
    """How this session stands."""
    return who().standing


def actor() -> Actor:
    """Who acts in this session; without a role where they do not get in."""
    return who().actor


def allowed(right: Right) -> bool:
    """Whether whoever uses this session has a right: what needs it is drawn only then."""
    return may(actor().role, right)


def may_open(page: str) -> bool:
    """Whether this session may see a page."""
    if page in OPEN_TO_ALL:
        return True
    session = who()
    return may(session.actor.role, Right.READ) and session.rules.shows(session.actor.role, page)


def _logged_in(user: Mapping[str, Any], rules: Rules) -> Who:
    name = name_of(user)
    if datetime.now(UTC) >= ends_at(user, rules.session_minutes) or has_ended(user):
        return _out(Standing.ENDED, rules, name)
    role = rules.role_of(user)
    if role is None:
        return _out(Standing.WITHOUT_ROLE, rules, name)
    return Who(standing=Standing.IN, actor=Actor(name=name, role=role), rules=rules)


def _out(standing: Standing, rules: Rules, name: str = "") -> Who:
    return Who(standing=standing, actor=Actor(name=name, role=None), rules=rules)


def _login_is_asked_for() -> bool:
    """Whether the secrets configure a login. Raises InvalidRules where that cannot be known or does not fit."""
    if st.secrets.load_if_toml_exists():
        if "auth" in st.secrets:
            return True
    elif any(Path(file).exists() for file in st.get_option("secrets.files")):
        raise InvalidRules("The secrets cannot be read, so that nobody knows whether they ask for a login.")
    if file_of_rules() is not None:
        raise InvalidRules("There is a file of rules, but the secrets have no [auth]: nobody can log in.")
    return False


def _rules() -> Rules:
    """The rules as their file has them now. Raises InvalidRules."""
    file = file_of_rules()
    if file is None:
        return Rules()
    try:
        changed_at = file.stat().st_mtime_ns
    except OSError:
        raise InvalidRules(f"{file.name} cannot be read.") from None
    return _rules_in(file, changed_at)


@lru_cache(maxsize=4)
def _rules_in(file: Path, changed_at: int) -> Rules:
    return read_rules(file)


@lru_cache(maxsize=16)
def _complain(problem: str) -> None:
    """Once in the log, for whoever runs the server: users are not told how it is set up."""
    _LOG.error("Nobody gets in: %s", problem)
