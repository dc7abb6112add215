"""A plan at the pace of the code that submits its tasks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator_core.execute.paced import Part, paced, parts
from orchestrator_core.execute.record import Burst
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer

CLUSTER = Cluster([Worker("w"), Worker("v", threads=2)])


def graph(names: str, **after: str) -> TaskGraph:
    builder = TaskGraph.build()
    for name in names:
        builder.task(name, after=list(after.get(name, "")))
    return builder.done()


def spans(schedule: Schedule) -> dict[str, tuple[float, float]]:
    return {row.task: (row.start, row.end) for row in schedule.assignments}


def test_a_burst_goes_out_when_the_code_has_thought_about_what_it_waited_for() -> None:
    """`a` ends at 2, then 5 s of Python; `x`, which was out already, goes ahead of `b` on `w`."""
    plan = Schedule(
        [Assignment("a", "w", 0, 2), Assignment("b", "w", 2, 6), Assignment("x", "w", 6, 8)],
        [Transfer("b", "w", "v", 6, 6, 7, 10)],
    )
    coming: list[Part] = [(["b"], Burst(1, ("a",), 5.0))]
    made = paced(plan, graph("abx"), CLUSTER, coming)
    assert spans(made.schedule) == {"a": (0, 2), "b": (8, 12), "x": (6, 8)}
    assert made.out == (7.0,)
    assert made.schedule.transfers[0].end == 13


def test_a_burst_never_overtakes_the_one_in_front() -> None:
    plan = Schedule([Assignment(name, "v", 0, 1) for name in "abc"])
    coming: list[Part] = [(["b"], Burst(1, ("a",), 2.0)), (["c"], Burst(1, (), 0.5))]
    made = paced(plan, graph("abc"), CLUSTER, coming)
    assert made.out == (3.0, 3.5)
    assert spans(made.schedule) == {"a": (0, 1), "b": (3, 4), "c": (3.5, 4.5)}


def test_what_was_waited_for_and_is_not_in_the_plan_holds_nobody_up() -> None:
    plan = Schedule([Assignment("b", "w", 1, 2)])
    made = paced(plan, graph("b"), CLUSTER, [(["b", "gone"], Burst(2, ("a",), 0.25))])
    assert made.schedule == plan
    assert made.out == (0.25,)


def test_bursts_share_the_tasks_in_their_order() -> None:
    bursts = (Burst(1), Burst(2, ("a",), 1.0))
    assert parts(("a", "b", "c"), bursts) == [(("a",), bursts[0]), (("b", "c"), bursts[1])]


@st.composite
def plans(draw: st.DrawFn) -> tuple[Schedule, TaskGraph, list[Part]]:
    """Any placement of up to 12 tasks with forward edges, cut into bursts."""
    n = draw(st.integers(1, 12))
    names = [f"t{i}" for i in range(n)]
    builder = TaskGraph.build()
    for i, name in enumerate(names):
        builder.task(name, after=sorted(draw(st.sets(st.sampled_from(names[:i])))) if i else [])
    times = st.integers(0, 9).map(float)
    rows = [
        Assignment(name, draw(st.sampled_from("wv")), start := draw(times), start + draw(times))
        for name in names
    ]
    bursts, first = [], 0
    while first < n:
        size = draw(st.integers(1, n - first))
        after = draw(st.sets(st.sampled_from(names[:first]))) if first else set()
        bursts.append(Burst(size, tuple(sorted(after)), draw(times)))
        first += size
    return Schedule(rows), builder.done(), parts(names, bursts)


@settings(max_examples=60)
@given(plans())
def test_nothing_starts_before_it_went_out_or_before_its_inputs(
    made: tuple[Schedule, TaskGraph, list[Part]],
) -> None:
    schedule, graph, coming = made
    result = paced(schedule, graph, CLUSTER, coming)
    before, after = spans(schedule), spans(result.schedule)
    assert after.keys() == before.keys()
    lane = {"w": 1, "v": 2}
    for name, (start, end) in after.items():
        assert start >= before[name][0]
        assert abs((end - start) - (before[name][1] - before[name][0])) < 1e-9
    for edge in graph.edges():
        assert after[edge.consumer][0] >= after[edge.producer][1] - 1e-9
    for (names, burst), out in zip(coming, result.out, strict=True):
        assert out >= max((after[name][1] for name in burst.after), default=0.0) + burst.pause
        assert all(after[name][0] >= out for name in names)
    for worker, threads in lane.items():
        mine = [after[row.task] for row in result.schedule.assignments if row.worker == worker]
        for start, _ in mine:
            busy = sum(s <= start < e for s, e in mine)
            assert busy <= threads
