"""Which program may ask: by its token, which the file of rules of the pages gives a role (docs/ACCESS.md)."""

import logging
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

from api.problems import refused
from sharing.access import Right, Role, may
from sharing.access.rules import Rules, file_of_rules, read_rules
from sharing.errors import InvalidRules

_LOG = logging.getLogger(__name__)


def demand_page(token: str | None, page: str) -> None:
    """Raises Refused where whoever holds this token may not see the page that answers the same question.

    Without a file of rules nobody needs a token, as on the pages nobody has to log in; one that cannot be read keeps
    everybody out.
    """
    file = file_of_rules()
    if file is None:
        return
    try:
        rules = _rules_in(file, file.stat().st_mtime_ns)
    except (InvalidRules, OSError) as invalid:
        _LOG.error("Nobody gets in: %s", invalid)
        raise refused(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "Nobody gets in: how this server is set up cannot be used. Its log says why.",
        ) from None
    role = rules.role_of_token(token) if token else None
    if role is None:
        what = "This token has no role here" if token else "This server asks for a token (Authorization: Bearer ...)"
        ask = f"ask {rules.ask or 'whoever runs it'} for one."
        raise refused(HTTPStatus.UNAUTHORIZED, f"{what}: {ask}", {"WWW-Authenticate": "Bearer"})
    _demand(rules, role, page)


def _demand(rules: Rules, role: Role, page: str) -> None:
    if not (may(role, Right.READ) and rules.shows(role, page)):
        raise refused(HTTPStatus.FORBIDDEN, f"What the page {page} answers is not for the role {role.value}.")


@lru_cache(maxsize=4)
def _rules_in(file: Path, changed_at: int) -> Rules:
    return read_rules(file)
