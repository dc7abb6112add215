"""A snapshot of live tasks: what is in the graph, and what of it a plan may place."""

from __future__ import annotations

from typing import Any

import dask
import pytest
from dask.delayed import delayed
from distributed import Client, Event, Scheduler, Worker, wait

from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.execute.dask.graphs import snapshot
from orchestrator_core.execute.dask.graphs.pins import is_plannable
from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
from orchestrator_core.execute.dask.steer.slots import slots_of
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.directives import Slot
from orchestrator_core.graph.task_graph import Demand
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.cluster import add, cluster_test, until, wait_for


class Looker:
    """A scheduler plugin that takes a snapshot of each graph as it arrives."""

    name = "looker"

    def __init__(self) -> None:
        self.seen: list[Snapshot] = []

    def update_graph(self, scheduler: Scheduler, *, keys: Any, tasks: Any, **other: Any) -> None:
        self.seen.append(snapshot.take(scheduler, tasks, keys, Roster(scheduler)))

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **details: None


@cluster_test()
async def test_pinned_tasks_are_seen_with_their_pins(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Pinned firmly, pinned loosely, pinned to nobody, and free."""
    looker = Looker()
    s.plugins["looker"] = looker  # type: ignore[assignment]
    with dask.annotate(workers=[a.address]):
        firm = delayed(add)(dask_key_name="firm-0")
    with dask.annotate(workers=[a.address], allow_other_workers=True):
        loose = delayed(add)(firm, dask_key_name="loose-0")
    with dask.annotate(resources={"GPU": 1}):
        unmet = delayed(add)(dask_key_name="unmet-0")
    free = delayed(add)(firm, loose, dask_key_name="free-0")
    futures = c.compute([free, unmet], optimize_graph=False)
    assert await futures[0] == 1 + 1 + 2
    (seen,) = (found for found in looker.seen if len(found) == 4)
    eligible = {name: seen.graph.task(name).eligible for name in seen.names}
    assert eligible == {"firm-0": ("0",), "loose-0": None, "unmet-0": None, "free-0": None}
    assert seen.plannable == {"free-0"}
    names = seen.graph.names
    edges = {(names[x], names[y]) for x, y in zip(*edge_columns(seen), strict=True)}
    assert edges == {("firm-0", "loose-0"), ("firm-0", "free-0"), ("loose-0", "free-0")}
    await c.cancel(futures)


def edge_columns(seen: Snapshot) -> tuple[list[int], list[int]]:
    return seen.graph.producer.tolist(), seen.graph.consumer.tolist()


@cluster_test()
async def test_what_has_begun_is_left_out(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    looker = Looker()
    done = c.submit(add, key="done-0")
    await wait(done)
    running = c.submit(wait_for, "seen", key="running-0")
    await until(lambda: s.tasks["running-0"].state == "processing" if len(s.tasks) > 1 else False)
    s.plugins["looker"] = looker  # type: ignore[assignment]
    new = c.submit(add, done, running, key="new-0")
    await until(lambda: "new-0" in s.tasks)
    await Event("seen").set()
    assert await new == 3
    (seen,) = (found for found in looker.seen if "new-0" in found.names)
    assert seen.keys == ("new-0",)
    assert seen.graph.n_edges == 0


@cluster_test()
async def test_what_need_not_be_computed_again_is_left_out(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """a -> b -> c -> d, where c exists: only d is new, though Dask names them all."""
    looker = Looker()
    graph: dict[str, Any] = {"a-0": (add,), "b-0": (add, "a-0"), "c-0": (add, "b-0")}
    held = c.get(graph, ["c-0"], sync=False)
    await wait(held)
    await until(lambda: s.tasks["b-0"].state == "released")
    s.plugins["looker"] = looker  # type: ignore[assignment]
    (future,) = c.get({**graph, "d-0": (add, "c-0")}, ["d-0"], sync=False)
    assert await future == 4
    assert [seen.keys for seen in looker.seen] == [("d-0",)]


@cluster_test()
async def test_keys_of_any_type_have_names(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    looker = Looker()
    s.plugins["looker"] = looker  # type: ignore[assignment]
    graph: dict[Any, Any] = {("x", 0): (add,), ("x", 1): (add, ("x", 0)), "('x', 0)": (add,)}
    futures = c.get(graph, list(graph), sync=False)
    assert await c.gather(futures) == [1, 2, 1]
    seen = next(found for found in looker.seen if len(found) == 3)
    assert set(seen.names) == {"('x', 0)", "('x', 0)#2", "('x', 1)"}
    assert {seen.key_of[name] for name in seen.names} == set(graph)
    assert seen.kinds == ("x", "x", "x")


@pytest.mark.parametrize("prefix", ["shuffle-p2p-1", "shuffle-transfer-1", "p2p-x"])
def test_shuffles_are_left_to_dask(prefix: str) -> None:
    class State:
        actor = False
        worker_restrictions = host_restrictions = resource_restrictions = None

        class prefix:
            name = "free"

    assert is_plannable(State)  # type: ignore[arg-type]
    State.prefix.name = prefix
    assert not is_plannable(State)  # type: ignore[arg-type]


ABC = Snapshot(
    keys=("a", "b", 3),
    prefixes=("k",) * 3,
    inputs=((), ("a",), ()),
    pins={"b": Demand()},
)


def test_slots_are_ranked_by_start_and_only_for_what_may_be_placed() -> None:
    schedule = Schedule(
        [
            Assignment("3", "v", 5.0, 6.0, mode=1),
            Assignment("b", "w", 2.0, 3.0),
            Assignment("a", "w", 0.0, 1.0),
        ]
    )
    assert slots_of(schedule, ABC, {"v", "w"}) == {"a": Slot("w", 0), 3: Slot("v", 2, 1)}


@pytest.mark.parametrize(
    ("assignment", "rule"),
    [("z w", "known task"), ("a z", "known worker"), ("a w a w", "once")],
)
def test_a_schedule_of_something_else_is_refused(assignment: str, rule: str) -> None:
    words = assignment.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    schedule = Schedule(Assignment(task, worker, 0.0, 1.0) for task, worker in pairs)
    with pytest.raises(InvalidSchedule) as caught:
        slots_of(schedule, ABC, {"w"})
    assert caught.value.rule == rule


@cluster_test()
async def test_tasks_come_in_the_order_in_which_dask_would_take_them(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """A chain of three beside thirty tasks: the longest way to the result first, as Dask has it."""
    looker = Looker()
    s.plugins["looker"] = looker  # type: ignore[assignment]
    chain = delayed(add)(dask_key_name="chain-0")
    for i in (1, 2):
        chain = delayed(add)(chain, dask_key_name=f"chain-{i}")
    others = [delayed(add)(dask_key_name=f"other-{i}") for i in range(30)]
    future = c.compute(delayed(add)(chain, *others, dask_key_name="result"))
    await until(lambda: bool(looker.seen))
    (seen,) = looker.seen
    assert seen.keys[:3] == ("chain-0", "chain-1", "chain-2")
    assert seen.keys[-1] == "result"
    assert await future == 34


@cluster_test()
async def test_a_part_has_the_names_of_the_whole_and_its_dates_have_come_nearer(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    looker = Looker()
    s.plugins["looker"] = looker  # type: ignore[assignment]
    one, other = "0" * 32, "f" * 32
    with dask.annotate(orchestrator={"due": 10, "release": 1}):
        first = delayed(add)(dask_key_name=f"add-{one}")
        second = delayed(add)(first, dask_key_name=f"add-{other}")
        last = delayed(add)(second, dask_key_name="last-0")
    assert await c.compute(last, optimize_graph=False) == 3
    (whole,) = looker.seen
    names = dict(zip(whole.keys, whole.names, strict=True))
    part = whole.part({f"add-{other}", "last-0"}, elapsed=4.0)
    assert set(part.names) == {names[f"add-{other}"], names["last-0"]}
    assert part.label("last-0") == whole.label("last-0")
    assert part.flow == whole.flow
    assert len(part.graph.producer) == 1
    dates = {(task.release, task.due) for task in map(part.graph.task, part.names)}
    assert dates == {(0.0, 6.0)}
    assert {task.due for task in map(whole.graph.task, whole.names)} == {10.0}
