"""Tasks on the threads of their workers."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.cli.lanes import Piece, pack, worker_uses
from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.schedule import Assignment, Schedule


def test_tasks_that_overlap_stand_in_different_lanes() -> None:
    """One worker with 2 threads:   aaaa cc
    bb
    """
    instance = Instance.from_arrays([[4.0], [2.0], [2.0]], [], threads=2)
    rows = [
        Assignment("t0", "w0", 0.0, 4.0),
        Assignment("t1", "w0", 0.0, 2.0),
        Assignment("t2", "w0", 4.0, 6.0),
    ]
    (use,) = worker_uses(instance, Schedule(rows))
    assert [[(p.start, p.end) for p in lane] for lane in use.lanes] == [[(0, 2), (4, 6)], [(0, 4)]]
    assert (use.tasks, use.busy, use.last_end) == (3, 8.0, 6.0)


def test_a_task_of_two_threads_stands_in_two_lanes_and_counts_twice() -> None:
    instance = Instance.from_arrays([[3.0]], [], threads=4, task_threads=2)
    (use,) = worker_uses(instance, Schedule([Assignment("t0", "w0", 0.0, 3.0)]))
    assert len(use.lanes) == 2
    assert use.busy == 6.0


def test_a_paused_task_is_busy_only_in_its_segments() -> None:
    instance = Instance.from_arrays([[3.0]], [])
    row = Assignment("t0", "w0", 0.0, 5.0, segments=((0.0, 1.0), (3.0, 5.0)))
    (use,) = worker_uses(instance, Schedule([row]))
    assert [(piece.start, piece.end) for piece in use.lanes[0]] == [(0.0, 1.0), (3.0, 5.0)]
    assert (use.tasks, use.busy) == (1, 3.0)


def test_an_idle_worker_is_there_too() -> None:
    instance = Instance.from_arrays([[1.0, 1.0]], [])
    uses = worker_uses(instance, Schedule([Assignment("t0", "w1", 0.0, 1.0)]))
    assert (uses[0].name, uses[0].tasks, uses[0].lanes) == ("w0", 0, ())


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=15))
def test_no_lane_holds_two_tasks_at_once(stretches: list[tuple[int, int]]) -> None:
    n = len(stretches)
    instance = Instance.from_arrays([[float(d)] for _, d in stretches], [], threads=n)
    rows = [
        Assignment(f"t{i}", "w0", float(start), float(start + length))
        for i, (start, length) in enumerate(stretches)
    ]
    (use,) = worker_uses(instance, Schedule(rows))
    for lane in use.lanes:
        for before, after in itertools.pairwise(lane):
            assert before.end <= after.start
    assert sum(map(len, use.lanes)) == n
    assert use.busy == pytest.approx(sum(length for _, length in stretches))


def test_measured_pieces_share_a_lane_if_they_hardly_overlap() -> None:
    first, second, third = Piece(0.0, 1.05, 0), Piece(1.0, 2.0, 1), Piece(1.5, 2.5, 0)
    assert pack([first, second, third]) == ((first, second), (third,))
    assert pack([]) == ()


def test_clocks_that_jump_make_no_more_lanes_than_there_are_threads() -> None:
    first, second, third = Piece(0.0, 1.0, 0), Piece(0.1, 0.5, 1), Piece(0.3, 0.6, 0)
    assert pack([first, second, third], threads=1) == ((first, second, third),)
    assert pack([first, second, third], threads=2) == ((first,), (second, third))
    assert pack([first, second, third], threads=4) == ((first,), (second,), (third,))
