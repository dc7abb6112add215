"""The decoder: known placements, every constraint by a hand-made optimum, and random instances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule, UnsupportedInstance
from orchestrator_core.graph import Cluster, Edge, Link, Mode, Task, TaskGraph, Worker
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine import decoder as decoding
from orchestrator_core.plan.engine import expand as expanding
from orchestrator_core.plan.engine.decoder import (
    Choice,
    DeadEnd,
    Decoded,
    decode,
    only_threads,
    to_schedule,
)
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.lists.orders import heft
from orchestrator_core.plan.schedule import Schedule
from tests.strategies import instances


def decoded(instance: Instance, order: list[int], **options: bool) -> Schedule:
    found = decode(expand(instance), Choice(np.array(order)), **options)
    assert isinstance(found, Decoded)
    schedule = to_schedule(instance, found)
    check_schedule(instance, schedule)
    return schedule


def price(tasks: list[Task], edges: list[Edge], workers: list[Worker], link: Link) -> Instance:
    return Instance.price(TaskGraph.from_tasks(tasks, edges), Cluster(workers, link))


@pytest.mark.parametrize("general", [False, True])
def test_a_short_task_is_inserted_into_a_gap(general: bool) -> None:
    """w0 runs a (2 s), waits 4 s for the transfer of b from w1, runs c; d (3 s) fits between."""
    seconds = [[2, 9], [9, 2], [1, 9], [3, 9]]
    instance = Instance.from_arrays(seconds, [(0, 2, 0), (1, 2, 4)], seconds_per_byte=1.0)
    schedule = decoded(instance, [0, 1, 2, 3], general=general)
    assert schedule.start.tolist() == [0.0, 0.0, 6.0, 2.0]
    assert schedule.makespan == 7.0
    without = decoded(instance, [0, 1, 2, 3], general=general, insertion=False)
    assert without.start[3] >= 6.0 or without.worker[3] == 1


@pytest.mark.parametrize("general", [False, True])
def test_a_lane_may_have_many_gaps(general: bool) -> None:
    """Forty tasks of 1 s are released every 2 s; forty more fill the gaps between them."""
    tasks = [Task(f"t{i}", seconds=1, release=2 * i) for i in range(40)]
    tasks += [Task(f"f{i}", seconds=1) for i in range(40)]
    instance = price(tasks, [], [Worker("w0")], Link())
    assert decoded(instance, list(range(80)), general=general).makespan == 80.0


@pytest.mark.parametrize("general", [False, True])
def test_ties_go_to_the_first_worker(general: bool) -> None:
    instance = Instance.from_arrays(np.ones((3, 3)), [])
    assert decoded(instance, [0, 1, 2], general=general).worker.tolist() == [0, 1, 2]


@pytest.mark.parametrize("general", [False, True])
def test_several_threads_run_several_tasks(general: bool) -> None:
    """Four tasks of 1 s on one worker of two threads: 2 s."""
    instance = Instance.from_arrays(np.ones((4, 1)), [], threads=2)
    assert decoded(instance, [0, 1, 2, 3], general=general).makespan == 2.0


def test_wide_tasks_wait_for_their_threads() -> None:
    """Two threads: the task of two waits for both that run, 1 s and 3 s; the last one fits beside
    the long one, from 1 s to 2 s."""
    instance = Instance.from_arrays(
        [[1.0], [3.0], [1.0], [1.0]], [], threads=2, task_threads=[1, 1, 2, 1]
    )
    assert decoded(instance, [0, 1, 2, 3]).start.tolist() == [0.0, 0.0, 3.0, 1.0]


def test_encoding_takes_a_thread_of_the_sender() -> None:
    """a (1 s, 2 bytes) on w0, b on w1: encoded 1..3, on its way 3..5; c on w0 waits until 3."""
    tasks = [
        Task("a", seconds=1, output_bytes=2, eligible=("w0",)),
        Task("b", seconds=1, eligible=("w1",)),
        Task("c", seconds=1, eligible=("w0",), release=1.5),
    ]
    link = Link(bandwidth=1.0, encode_rate=1.0)
    instance = price(tasks, [Edge("a", "b")], [Worker("w0"), Worker("w1")], link)
    schedule = decoded(instance, [0, 1, 2])
    assert schedule.start.tolist() == [0.0, 5.0, 3.0]
    assert schedule.transfer_start.tolist() == [1.0]
    assert schedule.transfer_encoded.tolist() == [3.0]


def test_consumers_on_one_worker_share_a_transfer() -> None:
    tasks = [Task("a", seconds=1, output_bytes=2, eligible=("w0",))]
    tasks += [Task(name, seconds=1, eligible=("w1",)) for name in "bc"]
    edges = [Edge("a", "b"), Edge("a", "c", nbytes=1.0)]
    link = Link(bandwidth=1.0, encode_rate=1.0)
    schedule = decoded(price(tasks, edges, [Worker("w0"), Worker("w1")], link), [0, 1, 2])
    assert len(schedule.transfers) == 1
    assert schedule.transfers[0].end == 5.0


def test_a_consumer_of_a_part_starts_before_the_rest_arrives() -> None:
    tasks = [
        Task("a", seconds=1, output_bytes=10, eligible=("w0",)),
        Task("b", seconds=1, eligible=("w1",)),
    ]
    workers = [Worker("w0", memory=20), Worker("w1", memory=12)]
    instance = price(tasks, [Edge("a", "b", nbytes=2.0)], workers, Link(bandwidth=1.0))
    schedule = decoded(instance, [0, 1])
    assert schedule.start[1] == 3.0
    assert schedule.transfer_end.tolist() == [11.0]


def test_resources_are_shared_in_turn() -> None:
    tasks = [Task(name, seconds=2, resources={"GPU": 1}) for name in "ab"]
    worker = Worker("w0", threads=4, resources={"GPU": 1})
    assert decoded(price(tasks, [], [worker], Link()), [0, 1]).makespan == 4.0


def test_memory_of_running_tasks_is_shared_in_turn() -> None:
    tasks = [Task(name, seconds=2, memory=6) for name in "ab"]
    worker = Worker("w0", threads=4, memory=10)
    assert decoded(price(tasks, [], [worker], Link()), [0, 1]).makespan == 4.0


def test_a_transfer_waits_for_room_at_its_destination() -> None:
    """w1 has 10 bytes, of which c takes 8 until 6 s: the output of a (5 bytes) may come only then,
    although it could be there at 1 s. So its transfer is put off, to arrive when b starts."""
    tasks = [
        Task("c", seconds=6, memory=8, eligible=("w1",)),
        Task("a", seconds=1, output_bytes=5, eligible=("w0",)),
        Task("b", seconds=1, eligible=("w1",)),
    ]
    workers = [Worker("w0", memory=10), Worker("w1", threads=2, memory=10)]
    instance = price(tasks, [Edge("a", "b")], workers, Link(bandwidth=5.0))
    schedule = decoded(instance, [0, 1, 2])
    assert schedule.start[2] == 6.0
    assert schedule.transfers[0].end == 6.0


def test_the_mode_that_ends_first_is_taken() -> None:
    modes = (Mode("slow", seconds=4.0), Mode("wide", threads=2, seconds=3.0))
    instance = price([Task("a", modes=modes)], [], [Worker("w0", threads=2)], Link())
    assert decoded(instance, [0]).assignments[0].mode == 1


def test_releases_are_kept() -> None:
    instance = Instance.from_arrays(np.ones((2, 1)), [], release=[3.0, 0.0])
    assert decoded(instance, [0, 1]).start.tolist() == [3.0, 0.0]


def test_instances_take_outputs_by_index() -> None:
    """Four of a, two of b with two outputs each: b_1 takes a_2 and a_3, the last of which ends at
    2 s on two workers; b_0 starts at 1 s."""
    tasks = [Task("a", seconds=1, count=4), Task("b", seconds=1, count=2)]
    workers = [Worker("w0"), Worker("w1")]
    instance = price(tasks, [Edge("a", "b", multiplicity=2)], workers, Link())
    problem = expand(instance)
    assert problem.in_task.tolist() == [0, 1, 2, 3]
    assert decoded(instance, [0, 1, 2, 3, 4, 5]).makespan == 3.0


def test_a_shared_output_goes_to_all_instances() -> None:
    tasks = [Task("a", seconds=1, count=2), Task("b", seconds=1, count=3)]
    instance = price(tasks, [Edge("a", "b", multiplicity=2)], [Worker("w0")], Link())
    assert expand(instance).in_task.tolist() == [0, 1] * 3


def test_too_many_dependencies_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expanding, "MAX_EDGES", 10)
    tasks = [Task("a", seconds=1, count=4), Task("b", seconds=1, count=3)]
    instance = price(tasks, [Edge("a", "b", multiplicity=4)], [Worker("w0")], Link())
    with pytest.raises(UnsupportedInstance, match="'a' to 'b'"):
        expand(instance)


def test_too_many_instances_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expanding, "MAX_TASKS", 10)
    tasks = [Task("a", seconds=1, count=7), Task("b", seconds=1, count=4)]
    instance = price(tasks, [], [Worker("w0")], Link())
    with pytest.raises(UnsupportedInstance, match=r"11 task instances, 7 of them of 'a'.*take 10"):
        expand(instance)


def test_many_tasks_are_appended_where_more_than_threads_is_scarce(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """a takes both threads from 0 to 1 s, b is released at 2 s, and c has room between them."""
    tasks = [Task("a", seconds=1, threads=2), Task("b", seconds=1, threads=2, release=2)]
    instance = price([*tasks, Task("c", seconds=1)], [], [Worker("w0", threads=2)], Link())
    assert decoded(instance, [0, 1, 2]).makespan == 3.0
    monkeypatch.setattr(decoding, "INSERTION_ON_PROFILES", 2)
    assert decoded(instance, [0, 1, 2]).makespan == 4.0


def test_a_dead_end_is_reported_and_no_schedule_made_up() -> None:
    """Each output fills half of the only worker: a and b first, and neither consumer has room."""
    tasks = [Task(name, seconds=1, output_bytes=5) for name in "ab"]
    tasks += [Task(name, seconds=1, memory=4, output_bytes=1) for name in "cd"]
    instance = price(tasks, [Edge("a", "c"), Edge("b", "d")], [Worker("w0", memory=10)], Link())
    problem = expand(instance)
    assert decode(problem, Choice(np.array([0, 1, 2, 3]))) == DeadEnd(2)
    assert isinstance(decode(problem, Choice(np.array([0, 2, 1, 3]))), Decoded)


def test_a_chain_of_100_000_tasks_needs_no_recursion() -> None:
    n = 100_000
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n), np.zeros(n - 1)])
    instance = Instance.from_arrays(np.ones((n, 2)), edges, latency=1.0)
    found = decode(expand(instance), next(heft(expand(instance))))
    assert isinstance(found, Decoded)
    assert found.end.max() == n


def test_a_schedule_survives_json_to_the_last_bit() -> None:
    rng = np.random.default_rng(3)
    instance = Instance.from_arrays(
        rng.random((30, 3)), [(i, i + 1, rng.random()) for i in range(29)], seconds_per_byte=0.3
    )
    schedule = decoded(instance, list(range(30)))
    again = Schedule.from_json(schedule.to_json())
    assert again == schedule
    check_schedule(instance, again)


@settings(max_examples=80)
@given(instances(any_constraints=True, deadline=False, stock=False), st.booleans(), st.booleans())
def test_what_is_decoded_is_valid(instance: Instance, insertion: bool, reserve: bool) -> None:
    problem = expand(instance)
    choice = next(heft(problem))
    found = decode(problem, choice, insertion=insertion, reserve=reserve, general=True)
    if isinstance(found, DeadEnd):
        assert np.isfinite(problem.worker_memory).any()
    else:
        check_schedule(instance, to_schedule(instance, found))


@settings(max_examples=40)
@given(instances(max_tasks=20, eligible=True, release=True, counts=True))
def test_both_kernels_agree_where_only_threads_are_scarce(instance: Instance) -> None:
    problem = expand(instance)
    assert only_threads(problem)
    choice = next(heft(problem))
    fast, general = decode(problem, choice), decode(problem, choice, general=True)
    assert isinstance(fast, Decoded)
    assert isinstance(general, Decoded)
    assert (
        to_schedule(instance, fast).assignments[:] == to_schedule(instance, general).assignments[:]
    )


def test_the_checker_would_see_an_overlap() -> None:
    """Guards the tests above: a decoded schedule with one start moved is refused."""
    instance = Instance.from_arrays(np.ones((2, 1)), [])
    schedule = decoded(instance, [0, 1])
    columns = {name: getattr(schedule, name) for name in ("task", "worker", "end")}
    wrong = Schedule.from_columns(
        schedule.task_names, schedule.worker_names, start=schedule.start * 0, **columns
    )
    with pytest.raises(InvalidSchedule):
        check_schedule(instance, wrong)
