"""Frozen links in both databases: made, opened, locked, revoked, counted; and what a holder is not told."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text, update

from sharing.access import Actor, Role
from sharing.author import owner
from sharing.errors import InvalidEntry, LinkRefusal, LinkRefused, NotAllowed, NotInLibrary, UnreadableVersion
from sharing.library.database import migrate
from sharing.library.schema import LINKS
from sharing.links import Holder, Links
from sharing.links import holder as holding
from sharing.links.holder import FREE_GUESSES, NOWHERE
from sharing.links.records import LinkState, Terms, Unlocked
from sharing.links.secrets import COST, password_hash
from sharing.report.content import FORMAT_VERSION, Fact, Facts, Released, Report, Section
from tests.sharing.test_library import draft

PASSWORD = "correct horse"
ANN = Actor(name="ann", role=Role.EDITOR)
BOB = Actor(name="bob", role=Role.EDITOR)


def report(title="Chat of <b>Acme</b> ‹é›", released=Released.NOTHING):
    facts = Facts(facts=(Fact(label="GPUs", value="8"),))
    return Report(
        title=title,
        made_at=datetime(2026, 11, 22, tzinfo=UTC),
        engine_version="1.2",
        data_version="d1",
        data_date="2026-11-01",
        released=released,
        answer="8 GPUs.",
        sections=(Section(key="answer", title="The answer", blocks=(facts,)),),
    )


OF_A_PASSWORD = COST["n"]


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch):
    """The same hash at a small part of its cost, which is the point of it only where somebody guesses."""
    monkeypatch.setitem(COST, "n", 16)


@pytest.fixture
def slow_passwords(quick_passwords, monkeypatch):
    """Passwords as the product hashes them."""
    monkeypatch.setitem(COST, "n", OF_A_PASSWORD)


@pytest.fixture
def links(library):
    library.add(draft(), by=owner("ann"))
    return Links(library)


def made(links, terms=None, by=ANN):
    return links.make(1, 1, report(), terms or Terms(), by=by)


def refusal(holder, unlocked=None):
    with pytest.raises(LinkRefused) as error:
        holder.show(unlocked)
    return error.value.refusal


def guess(holder, password):
    with pytest.raises(LinkRefused) as error:
        holder.unlock(password)
    return error.value.refusal


def test_a_link_shows_the_report_as_it_was_stored(links, place, opened):
    one = made(links)
    shared = Holder(opened(place), one.token).show()
    assert shared.report == report()
    assert (shared.link, shared.link.version, shared.link.made_by) == (one.link, 1, "ann")
    assert (one.link.engine_version, one.link.data_version, one.link.released) == ("1.2", "d1", Released.NOTHING)


def test_the_token_is_long_and_only_its_hash_is_stored(links):
    tokens = {made(links).token for _ in range(3)}
    assert all(len(token) >= 22 for token in tokens)
    with links.library.database.reading() as connection:
        rows = connection.execute(select(LINKS)).all()
    assert len({row.token_hash for row in rows}) == len(tokens) == 3
    assert not any(token in str(row) for row in rows for token in tokens)


@pytest.mark.usefixtures("slow_passwords")
def test_a_password_is_not_stored(links):
    made(links, Terms(password=PASSWORD))
    with links.library.database.reading() as connection:
        (row,) = connection.execute(select(LINKS)).all()
    assert PASSWORD not in str(row)
    assert row.password.startswith("scrypt$16384$8$5$"), "as slow to guess as it is meant to be"
    assert password_hash(PASSWORD) != password_hash(PASSWORD)


@pytest.mark.parametrize("token", ["", "x", "../../etc", "' OR 1=1 --", "a\x00b", "\ud800", "9" * 100_000, "é", "%00"])
def test_guessed_and_malformed_tokens_are_refused_alike(links, token):
    good = made(links).token
    for wrong in (token, good[:-1], good + "A", good.swapcase(), f" {good}"):
        with pytest.raises(LinkRefused) as error:
            Holder(links.library, wrong).show()
        assert (error.value.refusal, str(error.value)) == (LinkRefusal.UNKNOWN, NOWHERE)


def test_a_revoked_link_shows_nothing_again(links):
    one, other = made(links), made(links)
    assert links.revoke(one.link.id, by=ANN).state(links.library.now()) is LinkState.REVOKED
    first = links.revoke(one.link.id, by=ANN)
    assert (first.revoked_by, first.revoked_at) == ("ann", links.revoke(one.link.id, by=owner("eve")).revoked_at)
    assert refusal(Holder(links.library, one.token)) is LinkRefusal.REVOKED
    assert refusal(Holder(links.library, one.token), Unlocked(link_id=one.link.id)) is LinkRefusal.REVOKED
    assert Holder(links.library, other.token).show().report == report()


def test_a_link_expires(links):
    end = links.library.now() + timedelta(seconds=5)
    one = made(links, Terms(expires_at=end))
    holder = Holder(links.library, one.token)
    assert holder.show().link.expires_at == end
    links.library.now.now += timedelta(minutes=1)
    assert refusal(holder) is LinkRefusal.EXPIRED
    with pytest.raises(InvalidEntry, match="expired already"):
        made(links, Terms(expires_at=end))


def test_a_password_opens_its_own_link_alone(links):
    one, other = made(links, Terms(password=PASSWORD)), made(links, Terms(password="another horse"))
    holder, beside = Holder(links.library, one.token), Holder(links.library, other.token)
    assert refusal(holder) is LinkRefusal.LOCKED
    assert guess(holder, "another horse") is LinkRefusal.WRONG_PASSWORD
    assert guess(holder, "") is LinkRefusal.WRONG_PASSWORD
    unlocked = holder.unlock(PASSWORD)
    assert holder.show(unlocked).report == report()
    assert refusal(beside, unlocked) is LinkRefusal.LOCKED
    assert one.link.has_password


@pytest.mark.parametrize("password", ["short", "x" * 201])
def test_a_password_that_is_too_short_or_too_long(links, password):
    with pytest.raises(InvalidEntry, match="A password has 8 to 200 characters"):
        made(links, Terms(password=password))
    assert links.of_scenario(1, by=ANN) == ()


def test_guesses_have_to_wait_longer_and_longer(links):
    holder = Holder(links.library, made(links, Terms(password=PASSWORD)).token)
    for _ in range(FREE_GUESSES):
        assert guess(holder, "wrong guess") is LinkRefusal.WRONG_PASSWORD
    assert guess(holder, PASSWORD) is LinkRefusal.WAIT
    links.library.now.now += timedelta(seconds=40)
    assert guess(holder, "wrong guess") is LinkRefusal.WRONG_PASSWORD
    links.library.now.now += timedelta(seconds=40)
    assert guess(holder, PASSWORD) is LinkRefusal.WAIT
    links.library.now.now += timedelta(seconds=40)
    holder.unlock(PASSWORD)
    assert guess(holder, "wrong guess") is LinkRefusal.WRONG_PASSWORD


def test_guesses_of_one_reader_keep_no_other_waiting(links):
    """Whoever has the address of a link could otherwise lock its reader out."""
    token = made(links, Terms(password=PASSWORD)).token
    stranger, reader = (Holder(links.library, token, address) for address in ("192.0.2.7", "192.0.2.8"))
    for _ in range(FREE_GUESSES):
        assert guess(stranger, "wrong guess") is LinkRefusal.WRONG_PASSWORD
    assert guess(stranger, PASSWORD) is LinkRefusal.WAIT
    reader.unlock(PASSWORD)
    assert guess(stranger, PASSWORD) is LinkRefusal.WAIT  # the reader's success is not the stranger's


def test_addresses_that_one_user_has_many_of_are_one(links):
    token = made(links, Terms(password=PASSWORD)).token
    refusals = [guess(Holder(links.library, token, f"2001:db8:1:2::{n}"), "wrong guess") for n in range(8)]
    assert refusals.count(LinkRefusal.WAIT) == 8 - FREE_GUESSES
    assert guess(Holder(links.library, token, "2001:db8:1:3::1"), "wrong guess") is LinkRefusal.WRONG_PASSWORD


def test_a_link_that_many_guess_at_gives_each_one_guess(links, monkeypatch):
    monkeypatch.setattr(holding, "MANY_GUESSES", 3)
    token = made(links, Terms(password=PASSWORD)).token
    for n in range(3):
        assert guess(Holder(links.library, token, f"192.0.2.{n}"), "wrong guess") is LinkRefusal.WRONG_PASSWORD
    late = Holder(links.library, token, "192.0.2.99")
    assert guess(late, "wrong guess") is LinkRefusal.WRONG_PASSWORD
    assert guess(late, PASSWORD) is LinkRefusal.WAIT
    Holder(links.library, token, "192.0.2.100").unlock(PASSWORD)


@pytest.mark.usefixtures("slow_passwords")
def test_guesses_at_the_same_time_are_counted_each(links):
    holder = Holder(links.library, made(links, Terms(password=PASSWORD)).token)
    with ThreadPoolExecutor(8) as pool:
        refusals = list(pool.map(lambda _: guess(holder, "wrong guess"), range(12)))
    assert refusals.count(LinkRefusal.WRONG_PASSWORD) == FREE_GUESSES
    assert refusals.count(LinkRefusal.WAIT) == 12 - FREE_GUESSES


def test_views_are_counted_each(links):
    one = made(links)
    holder = Holder(links.library, one.token)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: holder.count_view(one.link), range(8)))
    (listed,) = links.of_scenario(1, by=ANN)
    assert listed.views == 8
    assert listed.viewed_at > listed.made_at


def test_who_sees_and_revokes_which_links(links):
    hers, his = made(links), made(links, by=BOB)
    assert links.of_scenario(1, by=ANN) == (hers.link,)
    assert links.of_scenario(1, by=owner("root")) == (his.link, hers.link)
    with pytest.raises(NotInLibrary, match="There is no link 2"):
        links.revoke(his.link.id, by=ANN)
    assert Holder(links.library, his.token).show()
    links.revoke(his.link.id, by=owner("root"))
    assert refusal(Holder(links.library, his.token)) is LinkRefusal.REVOKED


@pytest.mark.parametrize("role", [None, Role.VIEWER])
def test_without_the_right_nothing_is_shared_or_revoked(links, role):
    one, eve = made(links), Actor(name="ann", role=role)
    with pytest.raises(NotAllowed):
        made(links, by=eve)
    with pytest.raises(NotAllowed):
        links.revoke(one.link.id, by=eve)
    assert Holder(links.library, one.token).show()


def test_a_version_that_is_not_there(links):
    for number in ((9, 1), (1, 9)):
        with pytest.raises(NotInLibrary):
            links.make(*number, report(), Terms(), by=ANN)


def test_a_report_of_a_newer_version_is_one_sentence(links):
    one = made(links)
    with links.library.database.writing() as connection:
        newer = f'{{"format_version": {FORMAT_VERSION + 1}, "invention": 1}}'
        connection.execute(update(LINKS).values(report=newer))
    with pytest.raises(UnreadableVersion, match="stored by a newer version"):
        Holder(links.library, one.token).show()


def test_a_library_without_links_opens(library, place, opened):
    first = library.add(draft(), by=owner("ann"))
    with library.database.writing() as connection:
        for table in ("guesses", "ended_logins", "links", "calibrations", "bonds", "comparisons"):
            connection.execute(text(f"DROP TABLE {table}"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    migrate(library.database)
    again = opened(place)
    assert again.history(1) == (first,)
    assert made(Links(again)).link.id == 1
