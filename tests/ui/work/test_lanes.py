"""Plans and long questions before the same workers: who goes first, and for how long."""

from ui.work.lanes import PLANS_BEFORE, Lanes

WORKERS = 3


def full(*, plans: int, long: int) -> Lanes[str]:
    """Each of a session of its own, that nothing waits for its session."""
    lanes: Lanes[str] = Lanes()
    for number in range(long):
        lanes.join(f"L{number}", f"long {number}", long=True)
    for number in range(plans):
        lanes.join(f"P{number}", f"plan {number}", long=False)
    return lanes


def test_plans_go_first_and_one_worker_is_left_to_them() -> None:
    lanes = full(plans=2, long=4)
    turns = [lanes.take(worker, most_long=WORKERS - 1) for worker in range(5)]
    assert [turn and turn.item for turn in turns] == ["plan 0", "plan 1", "long 0", "long 1", None]
    lanes.join("late", "late plan", long=False)
    late = lanes.take(5, most_long=WORKERS - 1)
    assert late
    assert (late.item, late.long) == ("late plan", False)
    assert turns[2]
    lanes.done(turns[2])
    assert [turn and turn.item for turn in (lanes.take(n, most_long=WORKERS - 1) for n in "ab")] == ["long 2", None]


def test_under_plans_without_end_a_long_question_has_its_turn() -> None:
    lanes, order = full(plans=5 * PLANS_BEFORE, long=2), []
    for _ in range(2 * PLANS_BEFORE + 3):
        turn = lanes.take("worker", most_long=1)
        assert turn
        order.append(turn.item)
        lanes.done(turn)
    assert [place for place, item in enumerate(order) if item.startswith("long")] == [
        PLANS_BEFORE,
        2 * PLANS_BEFORE + 1,
    ]


def test_plans_that_go_while_no_long_question_could_begin_do_not_count() -> None:
    lanes = full(plans=4 * PLANS_BEFORE, long=1)
    for _ in range(2 * PLANS_BEFORE):
        turn = lanes.take("worker", most_long=0)
        assert turn
        lanes.done(turn)
    first = lanes.take("worker", most_long=1)
    assert first
    assert first.item.startswith("plan")


def test_a_session_has_plans_computed_beside_its_long_question_but_one_of_these_at_a_time() -> None:
    lanes: Lanes[str] = Lanes()
    for item in ("first", "second"):
        lanes.join("a", item, long=True)
    lanes.join("b", "other", long=True)
    assert [lanes.place(item) for item in ("first", "other", "second", "elsewhere")] == [1, 2, 3, 0]
    first, other = (lanes.take(worker, most_long=9) for worker in range(2))
    assert first
    assert other
    assert (first.item, other.item) == ("first", "other")
    assert lanes.take(3, most_long=9) is None
    lanes.join("a", "plan", long=False)
    plan = lanes.take(3, most_long=9)
    assert plan
    assert plan.item == "plan"
    lanes.done(first)
    second = lanes.take_long(most=9)
    assert second
    assert second.item == "second"


def test_all_that_waits_is_given_back_also_what_waits_for_its_own_session() -> None:
    lanes = full(plans=2, long=2)
    lanes.join("P0", "behind", long=False)
    assert lanes.take("worker", most_long=0)
    assert sorted(lanes.emptied()) == ["behind", "long 0", "long 1", "plan 1"]
    assert lanes.emptied() == []
