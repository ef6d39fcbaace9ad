"""A login that was ended gets nobody in any more, on any server of the same library, until it would have ended."""

from datetime import timedelta

from sharing.access.identity import login_of
from sharing.library.logins import end_login, ended_logins

CLAIMS = {"iss": "https://login.acme.com", "sub": "17", "iat": 1_790_000_000, "email": "ann@acme.com"}


def test_every_login_is_another_one() -> None:
    changes = ({}, {"iat": 1_790_000_001}, {"sub": "18"}, {"iss": "https://x"}, {"sid": 1})
    assert len({login_of({**CLAIMS, **change}) for change in changes}) == 5
    assert login_of(CLAIMS) == login_of(CLAIMS | {"email": "another@acme.com"})


def test_what_one_server_ends_another_knows(library, place, opened) -> None:
    until = library.now() + timedelta(hours=1)
    end_login(library, login_of(CLAIMS), until)
    end_login(library, login_of(CLAIMS), until)
    assert ended_logins(opened(place)) == {login_of(CLAIMS)}


def test_what_would_have_ended_by_now_is_forgotten(library) -> None:
    end_login(library, "a" * 64, library.now() + timedelta(seconds=5))
    library.now.now += timedelta(minutes=1)
    end_login(library, "b" * 64, library.now() + timedelta(hours=1))
    assert ended_logins(library) == {"b" * 64}
