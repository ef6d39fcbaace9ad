"""Who has which role: a file of rules, by what the login provider says of somebody or by their e-mail address."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sharing.access.identity import Claims, claim_values, verified_email
from sharing.access.roles import Role
from sharing.access.tokens import token_hash
from sharing.errors import InvalidRules
from sharing.settings import SETTINGS

VARIABLE = "SHARING_ACCESS"
"""Environment variable: path of the file of rules; else :data:`FILE`."""

FILE = SETTINGS / "access.yaml"


def _address(text: str) -> str:
    if text.count("@") != 1 or not all(text.split("@")):
        raise ValueError("is no e-mail address")
    return text


def _domain(text: str) -> str:
    if "@" in text or "." not in text.strip("."):
        raise ValueError("is no domain such as acme.com, which stands after the @")
    return text


Folded = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=1)]
Address = Annotated[Folded, AfterValidator(_address)]
Domain = Annotated[Folded, AfterValidator(_domain)]
Word = Annotated[str, StringConstraints(min_length=1)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""What is kept of a token: SHA-256 in hexadecimal digits."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Members(_Part):
    """Who has a role: any one of these is enough. ``pages``: the only ones they see; None: every page.

    ``tokens``: of programs, which do not log in (``python -m api token`` makes one).
    """

    claims: tuple[Word, ...] = ()
    emails: tuple[Address, ...] = ()
    domains: tuple[Domain, ...] = ()
    tokens: tuple[Digest, ...] = ()
    pages: tuple[Word, ...] | None = None

    def include(self, email: str, values: Sequence[str]) -> bool:
        """Whether somebody with this verified e-mail address, or these values of the claim, is one of them."""
        address = email.casefold()
        domain = address.partition("@")[2]
        return address in self.emails or domain in self.domains or bool(set(values) & set(self.claims))


class Rules(_Part):
    """The file of rules. Who is nowhere in it has no access, or is a viewer where ``others`` says so."""

    claim: Word = "roles"
    viewer: Members = Members()
    editor: Members = Members()
    admin: Members = Members()
    others: Literal["viewer", "none"] = "none"
    ask: str = Field(default="", max_length=200)
    session_minutes: float | None = Field(default=None, gt=0, le=60 * 24 * 30)

    def role_of(self, claims: Claims) -> Role | None:
        """The highest role that somebody has by what the provider says."""
        email, values = verified_email(claims), claim_values(claims, self.claim)
        for role in reversed(Role):
            if self.members(role).include(email, values):
                return role
        return Role.VIEWER if self.others == "viewer" else None

    def role_of_token(self, token: str) -> Role | None:
        """The highest role that a program has by its token; ``others`` are people, so that an unknown one has none."""
        kept = token_hash(token)
        return next((role for role in reversed(Role) if kept in self.members(role).tokens), None)

    def members(self, role: Role) -> Members:
        """Who has this role by name."""
        members: Members = getattr(self, role.value)
        return members

    def shows(self, role: Role | None, page: str) -> bool:
        """Whether the pages of a role include this one."""
        if role is None:
            return False
        pages = self.members(role).pages
        return pages is None or page in pages


def file_of_rules() -> Path | None:
    """The file of rules: the one that is named, whether it exists or not, else the usual one where it does."""
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        return Path(named).expanduser()
    return FILE if FILE.exists() else None


def read_rules(file: Path) -> Rules:
    """The rules of a file. Raises InvalidRules with one sentence per problem."""
    try:
        content = yaml.safe_load(file.read_bytes())
    except OSError:
        raise InvalidRules(f"{file.name} cannot be read.") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise InvalidRules(f"{file.name} is not YAML.") from None
    if not isinstance(content, Mapping):
        raise InvalidRules(f"{file.name} holds no keys: see docs/ACCESS.md.")
    return _validated(content, file.name)


def _validated(content: Mapping[str, Any], name: str) -> Rules:
    try:
        return Rules.model_validate(content)
    except ValidationError as invalid:
        problems = (f"{name}: {'.'.join(map(str, one['loc']))}: {one['msg']}." for one in invalid.errors())
        raise InvalidRules("\n".join(problems)) from None
