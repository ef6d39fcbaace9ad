"""Whose turn it is."""

from ui.work.turns import Turns


def taken(turns: Turns[str]) -> list[str]:
    """What is taken where each is done before the next begins."""
    order = []
    for _ in range(20):
        turn = turns.take()
        if turn is None:
            break
        order.append(turn[1])
        turns.done(turn[0])
    return order


def test_a_session_that_asks_for_much_lets_the_others_in_between() -> None:
    turns: Turns[str] = Turns()
    for item in ("a1", "a2", "a3", "a4"):
        turns.join("a", item)
    turns.join("b", "b1")
    turns.join("c", "c1")
    turns.join("b", "b2")
    assert taken(turns) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_one_of_a_session_runs_at_a_time() -> None:
    turns: Turns[str] = Turns()
    turns.join("a", "a1")
    turns.join("a", "a2")
    turns.join("b", "b1")
    assert turns.take() == ("a", "a1")
    assert turns.take() == ("b", "b1")
    assert turns.take() is None
    turns.done("a")
    assert turns.take() == ("a", "a2")


def test_the_place_is_how_many_are_taken_until_it() -> None:
    turns: Turns[str] = Turns()
    for session, item in (("a", "a1"), ("a", "a2"), ("b", "b1"), ("c", "c1"), ("b", "b2")):
        turns.join(session, item)
    assert turns.place("elsewhere") == 0
    places = {item: turns.place(item) for item in ("a1", "a2", "b1", "b2", "c1")}
    assert taken(turns) == sorted(places, key=places.__getitem__)
    assert sorted(places.values()) == [1, 2, 3, 4, 5]


def test_what_two_sessions_wait_for_is_taken_once_at_the_first_turn_of_either() -> None:
    turns: Turns[str] = Turns()
    for item in ("a1", "a2", "shared"):
        turns.join("a", item)
    turns.join("b", "shared")
    assert turns.place("shared") == 2
    assert taken(turns) == ["a1", "shared", "a2"]


def test_what_nobody_waits_for_any_more_is_not_taken() -> None:
    turns: Turns[str] = Turns()
    turns.join("a", "a1")
    turns.join("b", "a1")
    turns.join("b", "b1")
    turns.leave("a1")
    assert taken(turns) == ["b1"]


def test_a_worker_rather_goes_on_with_those_it_worked_for_but_passes_nobody_over_for_long() -> None:
    turns: Turns[str] = Turns()
    for session in "ab":
        turns.join(session, f"{session}1")
    for worker, session in (("one", "a"), ("two", "b")):
        assert turns.take(worker) == (session, f"{session}1")
        turns.done(session)
    order = []
    for number in range(2, 6):
        turns.join("a", f"a{number}")
        turns.join("b", f"b{number}")
        turn = turns.take("two")
        order.append(turn[1])
        turns.done(turn[0])
    assert order == ["b2", "b3", "a2", "b4"]


def test_a_worker_takes_what_there_is_before_it_does_nothing() -> None:
    turns: Turns[str] = Turns()
    turns.join("a", "a1")
    assert turns.take("one") == ("a", "a1")
    turns.done("a")
    turns.join("a", "a2")
    assert turns.take("two") == ("a", "a2")
