"""The follower keeps its books under any order of events, and withdraws when it must."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.execute.directives import Disable, Hold, Place, Release, Slot
from orchestrator_core.execute.follower import Follower
from orchestrator_core.execute.stage import Stage

A, B = Slot("alice", 0), Slot("bob", 1)


def test_a_ready_task_goes_to_its_worker() -> None:
    follower = Follower()
    assert follower.planned({"a": A, "b": B}) == (Place("a", A), Place("b", B))
    assert follower.decide("b", {"alice", "bob"}) == "bob"
    assert follower.is_placed("b")
    assert not follower.is_placed("a")


def test_a_task_that_nobody_planned_is_left_to_the_host() -> None:
    follower = Follower()
    assert follower.decide("x", {"alice"}) is None
    assert follower.finished("x") == follower.failed("x") == follower.forgotten("x") == ()
    assert "x" not in follower


def test_a_task_whose_worker_does_not_run_is_left_to_the_host() -> None:
    follower = Follower()
    follower.planned({"a": A})
    assert follower.decide("a", {"bob"}) is None
    assert follower.stage("a") is Stage.RELEASED
    assert follower.decide("a", {"alice"}) == "alice", "its worker runs again"


def test_a_lost_worker_gives_its_open_tasks_back_and_gets_them_again() -> None:
    follower = Follower()
    follower.planned({"a": A, "b": B, "c": Slot("alice", 2)})
    follower.decide("a", {"alice"})
    follower.finished("a")
    (release,) = follower.worker_lost("alice")
    assert isinstance(release, Release)
    assert release.keys == ("c",), "what is finished is not given back"
    assert follower.worker_joined("alice") == (Place("c", Slot("alice", 2)),)
    assert follower.worker_joined("alice") == ()


def test_an_output_that_is_lost_is_computed_again_where_it_was_planned() -> None:
    follower = Follower()
    follower.planned({"a": A})
    follower.decide("a", {"alice"})
    follower.finished("a")
    assert follower.decide("a", {"alice"}) == "alice"
    follower.forgotten("a")
    assert follower.decide("a", {"alice"}) is None, "a forgotten key is no longer planned"


def test_a_second_plan_for_a_key_replaces_the_first() -> None:
    follower = Follower()
    follower.planned({"a": A})
    follower.planned({"a": B})
    assert follower.worker_lost("alice") == ()
    assert follower.decide("a", {"alice", "bob"}) == "bob"
    assert follower.check() == ()


def test_a_plan_that_is_mended_holds_whom_it_held() -> None:
    follower = Follower()
    until_b = Hold(done=frozenset("b"), patience=9.0)
    follower.planned({"a": A, "b": B, "c": A}, {"a": until_b, "c": until_b})
    assert follower.decide("a", {"alice"}, now=1.0) is Stage.HELD
    later = Slot("alice", 7)
    assert follower.mended({"a": later, "c": B}) == (Place("a", later), Place("c", B))
    assert follower.held == {"a": 10.0}, "it stays where it was, and has waited for a while"
    assert follower.decide("c", {"bob"}, now=2.0) == "bob", "who goes elsewhere is free"
    assert follower.check() == ()
    assert follower.finished("b") == (Place("a", later),)


def test_nobody_waits_for_who_goes_elsewhere() -> None:
    follower = Follower()
    follower.planned({"a": A, "b": B}, {"a": Hold(done=frozenset("b"))})
    assert follower.decide("a", {"alice"}, now=1.0) is Stage.HELD
    assert follower.mended({"b": A}) == (Place("b", A), Place("a", A))
    assert follower.decide("a", {"alice"}, now=1.0) == "alice"


def test_one_fault_is_forgiven_two_are_not() -> None:
    follower = Follower()
    follower.planned({"a": A, "b": B})
    follower.decide("a", {"alice"})
    assert follower.fault("first") == ()
    assert follower.decide("b", {"bob"}) == "bob"
    assert follower.fault("second") == (Disable("first; second", ("a", "b")),)
    assert follower.fault("third") == (), "it is said once"
    assert follower.decide("a", {"alice"}) is None
    assert follower.planned({"c": A}) == ()
    assert len(follower) == 0


def test_books_that_do_not_agree_disable_at_once() -> None:
    follower = Follower()
    follower.planned({"a": A})
    del follower._keys.stages["a"]
    (directive,) = follower.check()
    assert isinstance(directive, Disable)
    assert "broken invariant" in directive.reason
    assert follower.disabled is not None


KEYS = st.sampled_from("abcde")
NAMES = st.sampled_from(["alice", "bob", "carol"])
SLOTS = st.builds(Slot, NAMES, st.integers(0, 9))
EVENTS = st.one_of(
    st.tuples(st.sampled_from(["planned", "mended"]), st.dictionaries(KEYS, SLOTS)),
    st.tuples(st.just("decide"), KEYS, st.frozensets(NAMES)),
    st.tuples(st.sampled_from(["finished", "failed", "forgotten"]), KEYS),
    st.tuples(st.sampled_from(["worker_lost", "worker_joined"]), NAMES),
    st.tuples(st.just("fault"), st.just("a fault")),
    st.tuples(st.just("clear")),
)


@given(st.lists(EVENTS, max_size=40))
def test_the_books_agree_after_any_events(events: list[Any]) -> None:
    """Against a model that knows only the latest slot of each key that is not forgotten."""
    follower, model, faults = Follower(), dict[str, Slot](), 0
    for name, *arguments in events:
        answer = getattr(follower, name)(*arguments)
        faults += name == "fault"
        if faults >= 2 or name == "clear":
            model.clear()
        elif name in ("planned", "mended"):
            model.update(arguments[0])
        elif name == "forgotten":
            model.pop(arguments[0], None)
        if name == "decide":
            key, running = arguments
            slot = model.get(key)
            assert answer == (slot.worker if slot is not None and slot.worker in running else None)
            assert follower.is_placed(key) == (answer is not None)
        elif name in ("worker_lost", "worker_joined"):
            touched = [k for d in answer for k in (d.keys if isinstance(d, Release) else [d.key])]
            assert all(model[key].worker == arguments[0] for key in touched)
            assert len(touched) == len(set(touched))
        assert {key: follower.slot(key) for key in model} == model
        assert len(follower) == len(model)
        assert (follower.disabled is not None) == (faults >= 2)
        assert follower.check() == ()
