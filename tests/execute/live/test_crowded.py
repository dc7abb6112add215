"""Links are seen as if each transfer had them for itself; a course knows that they are shared."""

from __future__ import annotations

from orchestrator_core import Cluster, Instance, Link, TaskGraph, Worker
from orchestrator_core.execute.live import Course, Sight
from orchestrator_core.execute.live.crowded import crowded
from orchestrator_core.plan.schedule import Assignment, Schedule

SEEN = Cluster([Worker("a"), Worker("b")], Link(latency=0.25, bandwidth=100.0))


def test_bytes_take_longer_and_beginning_does_not() -> None:
    shared = crowded(SEEN, 2.0)
    assert shared.seconds_per_byte[0, 1] == 2 * SEEN.seconds_per_byte[0, 1] == 0.02
    assert shared.latency[0, 1] == 0.25
    assert shared.names == SEEN.names
    assert crowded(SEEN, 1.0) is SEEN


def test_a_course_keeps_to_what_its_plan_was_made_for() -> None:
    graph = TaskGraph.build()
    graph.task("t", seconds=1.0)
    instance = Instance.price(graph.done(), crowded(SEEN, 2.0))
    schedule = Schedule([Assignment("t", "a", 0.0, 1.0)])
    course = Course(instance, schedule, crowding=2.0)
    standing, _ = course.standing(Sight(0.5, SEEN))
    assert standing.cluster.seconds_per_byte[0, 1] == 0.02


def test_what_lies_between_two_tasks_is_no_part_of_the_pace() -> None:
    from orchestrator_core.execute.live import Execution

    graph = TaskGraph.build()
    names = [f"t{i}" for i in range(40)]
    for name in names:
        graph.task(name, seconds=0.05)
    instance = Instance.price(graph.done(), SEEN)
    schedule = Schedule(
        [Assignment(name, "a", 0.05 * i, 0.05 * (i + 1)) for i, name in enumerate(names)]
    )
    done = {
        name: Execution("a", 0.05 * i + 0.02, 0.05 * (i + 1)) for i, name in enumerate(names[:30])
    }
    sight = Sight(1.5, SEEN, finished=done)
    quick, _ = Course(instance, schedule).standing(sight)
    assert quick.seconds[0, 0] < 0.045, "30 ms, where 50 were believed"
    as_planned, _ = Course(instance, schedule, changeover=0.02).standing(sight)
    assert as_planned.seconds[0, 0] == 0.05
