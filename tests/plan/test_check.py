"""check_schedule, rule by rule: schedules made by hand, with the reason why they are (in)valid."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, InvalidSchedule
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task import Edge, Mode, Task
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from orchestrator_core.plan.time_indexed import optimal_makespan


def refused(instance: Instance, schedule: Schedule, rule: str, text: str = "") -> InvalidSchedule:
    """The schedule breaks this rule first, and the message holds this text."""
    with pytest.raises(InvalidSchedule) as caught:
        check_schedule(instance, schedule)
    assert caught.value.rule == rule, str(caught.value)
    assert text in str(caught.value)
    return caught.value


def priced(tasks: list[Task], edges: list[Edge] | None = None, *workers: Worker) -> Instance:
    graph = TaskGraph.from_tasks(tasks, edges or [])
    return Instance.price(graph, Cluster(workers or (Worker("w1"),)))


# ``a`` (2 s, 4 bytes) feeds ``b`` (3 s). Sending 4 bytes: encode 1 s, then 0.5 s + 2 s.
LINK = Link(latency=0.5, bandwidth=2.0, encode_rate=4.0)
PAIR = Instance.price(
    TaskGraph.from_tasks(
        [Task("a", seconds=2.0, output_bytes=4.0), Task("b", seconds=3.0)], [Edge("a", "b")]
    ),
    Cluster([Worker("w1"), Worker("w2")], LINK),
)
A = Assignment("a", "w1", 0.0, 2.0)
B = Assignment("b", "w2", 5.5, 8.5)
SENT = Transfer("a", "w1", "w2", 2.0, 3.0, 5.5, 4.0)
B_AT_HOME = Assignment("b", "w1", 2.0, 5.0)


def test_a_schedule_with_a_transfer_is_valid() -> None:
    check_schedule(PAIR, Schedule([A, B], [SENT]))


def test_a_consumer_on_the_same_worker_needs_no_transfer() -> None:
    check_schedule(PAIR, Schedule([A, B_AT_HOME]))


def test_the_verifier_knows_no_planner() -> None:
    code = (
        "import sys, orchestrator_core.plan.check\n"
        "print(*[m for m in sys.modules if m.startswith('orchestrator_core.plan.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    known = {name.split(".")[2] for name in done.stdout.split()}
    assert known <= {"budget", "check", "checks", "given", "on_demand", "result", "schedule"}


def test_the_order_of_rows_does_not_matter() -> None:
    check_schedule(PAIR, Schedule([B, A], [SENT]))


def test_the_empty_graph_has_the_empty_schedule() -> None:
    check_schedule(priced([]), Schedule([]))
    refused(priced([]), Schedule([A]), "names")


class TestNames:
    def test_unknown_task(self) -> None:
        error = refused(PAIR, Schedule([A, replace(B, task="c")], [SENT]), "names", "task 'c'")
        assert error.task == "c"

    def test_unknown_worker(self) -> None:
        refused(PAIR, Schedule([A, replace(B, worker="w9")], [SENT]), "names", "worker 'w9'")

    def test_transfer_of_an_unknown_task(self) -> None:
        moves = [SENT, replace(SENT, task="ghost")]
        refused(PAIR, Schedule([A, B], moves), "names", "task 'ghost'")

    def test_transfer_to_an_unknown_worker(self) -> None:
        moves = [replace(SENT, destination="w9")]
        refused(PAIR, Schedule([A, B], moves), "names", "worker 'w9'")

    @pytest.mark.parametrize("position", [-1, 2, 7])
    def test_positions_that_point_nowhere(self, position: int) -> None:
        schedule = Schedule.from_columns(
            ("a", "b"), ("w1",), task=[0, position], worker=[0, 0], start=[0, 2], end=[2, 5]
        )
        refused(PAIR, schedule, "names", f"task number {position}")


class TestOnce:
    def test_missing(self) -> None:
        error = refused(PAIR, Schedule([A]), "once", "task 'b' is not assigned")
        assert error.task == "b"

    def test_twice(self) -> None:
        rows = [A, B_AT_HOME, replace(B_AT_HOME, start=5.0, end=8.0)]
        refused(PAIR, Schedule(rows), "once", "task 'b' is assigned 2 times")

    def test_an_instance_that_the_task_does_not_have(self) -> None:
        rows = [A, replace(B_AT_HOME, instance=1)]
        refused(PAIR, Schedule(rows), "once", "instance 1 of task 'b'")
        refused(PAIR, Schedule([A, replace(B_AT_HOME, instance=-1)]), "once")

    def test_a_missing_instance_of_many(self) -> None:
        instance = priced([Task("a", seconds=1.0, count=3)])
        rows = [Assignment("a", "w1", r, r + 1.0, instance=r) for r in range(3)]
        check_schedule(instance, Schedule(rows))
        refused(instance, Schedule(rows[:2]), "once", "instance 2 of task 'a' is not assigned")
        twice = [rows[0], rows[1], replace(rows[2], instance=1)]
        refused(instance, Schedule(twice), "once", "instance 1 of task 'a' is assigned 2 times")

    def test_transfer_of_an_instance_that_does_not_exist(self) -> None:
        moves = [SENT, replace(SENT, instance=3)]
        refused(PAIR, Schedule([A, B], moves), "transfer", "instance 3 of task 'a'")


class TestModeAndEligible:
    INSTANCE = priced(
        [
            Task(
                "a",
                modes=(Mode("cpu", seconds=4.0), Mode("gpu", resources={"GPU": 1}, seconds=1.0)),
            )
        ],
        [],
        Worker("w1"),
        Worker("w2", resources={"GPU": 1}),
    )

    def test_each_mode_has_its_duration(self) -> None:
        check_schedule(self.INSTANCE, Schedule([Assignment("a", "w1", 0.0, 4.0)]))
        check_schedule(self.INSTANCE, Schedule([Assignment("a", "w2", 0.0, 1.0, mode=1)]))

    @pytest.mark.parametrize("mode", [-1, 2])
    def test_no_such_mode(self, mode: int) -> None:
        row = Assignment("a", "w1", 0.0, 4.0, mode=mode)
        refused(self.INSTANCE, Schedule([row]), "mode", "its modes are 0 to 1")

    def test_the_worker_lacks_what_the_mode_needs(self) -> None:
        row = Assignment("a", "w1", 0.0, 1.0, mode=1)
        refused(self.INSTANCE, Schedule([row]), "eligible", "it may run on ['w2']")

    def test_the_task_may_not_run_there(self) -> None:
        only = Task("a", seconds=1.0, eligible=("w2",))
        instance = priced([only], [], Worker("w1"), Worker("w2"))
        check_schedule(instance, Schedule([Assignment("a", "w2", 0.0, 1.0)]))
        refused(instance, Schedule([Assignment("a", "w1", 0.0, 1.0)]), "eligible")


class TestTimes:
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -1.0])
    def test_times_are_finite_and_not_negative(self, bad: float) -> None:
        refused(PAIR, Schedule([replace(A, start=bad), B], [SENT]), "time", "'a'")
        refused(PAIR, Schedule([A, replace(B, end=bad)], [SENT]), "time", "'b'")
        for field in ("start", "encoded", "end"):
            moves = [replace(SENT, **{field: bad})]
            refused(PAIR, Schedule([A, B], moves), "time", "the transfer of task 'a'")

    def test_too_short_and_too_long(self) -> None:
        text = "runs on 'w1' from 0 s to 1.5 s; there it takes 2 s"
        refused(PAIR, Schedule([replace(A, end=1.5), B], [SENT]), "duration", text)
        refused(PAIR, Schedule([A, replace(B, end=9.0)], [SENT]), "duration")

    def test_rounding_is_forgiven(self) -> None:
        rows = [replace(A, end=2.0 + 4e-10), replace(B_AT_HOME, start=2.0, end=5.0)]
        check_schedule(PAIR, Schedule(rows))
        refused(PAIR, Schedule([replace(A, end=2.0 + 1e-7), B_AT_HOME]), "duration")

    def test_release(self) -> None:
        instance = priced([Task("a", seconds=1.0, release=5.0)])
        check_schedule(instance, Schedule([Assignment("a", "w1", 5.0, 6.0)]))
        text = "starts at 4.5 s, before its release at 5 s"
        refused(instance, Schedule([Assignment("a", "w1", 4.5, 5.5)]), "release", text)

    def test_deadline(self) -> None:
        instance = priced([Task("a", seconds=1.0, deadline=2.0)])
        check_schedule(instance, Schedule([Assignment("a", "w1", 1.0, 2.0)]))
        text = "ends at 2.25 s, after its deadline at 2 s"
        refused(instance, Schedule([Assignment("a", "w1", 1.25, 2.25)]), "deadline", text)


class TestSegments:
    """8 s of work that may pause after a quarter and after a half: at 2 s and at 4 s."""

    INSTANCE = priced([Task("a", seconds=8.0, checkpoints=(0.25, 0.5)), Task("b", seconds=1.0)])
    B = Assignment("b", "w1", 2.0, 3.0)

    def run(self, *segments: tuple[float, float]) -> Schedule:
        row = Assignment("a", "w1", segments[0][0], segments[-1][1], segments=segments)
        return Schedule([row, self.B])

    def test_another_task_runs_in_the_pause(self) -> None:
        check_schedule(self.INSTANCE, self.run((0, 2), (3, 9)))
        check_schedule(self.INSTANCE, self.run((0, 2), (3, 5), (7, 11)))

    def test_without_a_pause_it_takes_the_thread(self) -> None:
        refused(self.INSTANCE, Schedule([Assignment("a", "w1", 0, 8), self.B]), "threads")

    def test_off_a_checkpoint(self) -> None:
        text = "pauses after 1.5 s of work; it can pause after 2 s, 4 s"
        refused(self.INSTANCE, self.run((0, 1.5), (3, 9.5)), "segments", text)
        refused(self.INSTANCE, self.run((0, 2), (3, 6), (6, 9)), "segments", "after 5 s of work")

    def test_a_task_without_checkpoints_does_not_pause(self) -> None:
        rows = [Assignment("a", "w1", 0, 8), Assignment("b", "w1", 8, 10)]
        pieces = replace(rows[1], segments=((8.0, 8.5), (9.5, 10.0)))
        refused(self.INSTANCE, Schedule([rows[0], pieces]), "segments", "after no moment")

    def test_out_of_order_or_overlapping(self) -> None:
        refused(self.INSTANCE, self.run((3, 5), (0, 6)), "segments")
        refused(
            self.INSTANCE, self.run((0, 2), (1, 7)), "segments", "when the one before has ended"
        )

    def test_too_little_or_too_much_work(self) -> None:
        refused(self.INSTANCE, self.run((0, 2), (3, 8)), "segments", "7 s in all; it takes 8 s")
        refused(self.INSTANCE, self.run((0, 2), (3, 10)), "segments", "9 s in all")

    def test_an_empty_segment(self) -> None:
        refused(self.INSTANCE, self.run((0, 0), (3, 11)), "segments", "has a length")

    def test_start_and_end_are_those_of_the_segments(self) -> None:
        row = Assignment("a", "w1", 0.0, 12.0, segments=((0.0, 2.0), (3.0, 9.0)))
        refused(self.INSTANCE, Schedule([row, self.B]), "segments", "runs from 0 s to 12 s")

    @pytest.mark.parametrize("pieces", [((0.0, math.nan),), ((0.0, 1.0, 2.0),), (("x", "y"),)])
    def test_what_is_no_segment(self, pieces: tuple[tuple[float, float], ...]) -> None:
        row = Assignment("a", "w1", 0.0, 8.0, segments=pieces)
        refused(self.INSTANCE, Schedule([row, self.B]), "segments", "expected pairs")

    def test_segments_of_no_assignment(self) -> None:
        schedule = Schedule.from_columns(
            ("a", "b"),
            ("w1",),
            segments={7: ((0.0, 1.0),)},
            task=[0, 1],
            worker=[0, 0],
            start=[0, 8],
            end=[8, 9],
        )
        refused(self.INSTANCE, schedule, "segments", "assignment 7")


class TestInputs:
    def test_before_the_producer_ends(self) -> None:
        early = Assignment("b", "w1", 1.0, 4.0)
        text = "'b' starts at 1 s on 'w1', but its input from task 'a' is made there at 2 s"
        error = refused(PAIR, Schedule([A, early]), "inputs", text)
        assert error.task == "b"

    def test_before_the_transfer_arrives(self) -> None:
        early = replace(B, start=5.0, end=8.0)
        text = "'b' starts at 5 s on 'w2', but its input from task 'a' arrives there at 5.5 s"
        refused(PAIR, Schedule([A, early], [SENT]), "inputs", text)

    def test_without_a_transfer(self) -> None:
        text = "'b' on 'w2' needs the output of task 'a' from 'w1'"
        refused(PAIR, Schedule([A, B]), "transfer", text)

    def test_an_output_of_no_bytes_needs_a_transfer_too(self) -> None:
        graph = TaskGraph.from_tasks(
            [Task("a", seconds=2.0), Task("b", seconds=3.0)], [Edge("a", "b")]
        )
        instance = Instance.price(graph, PAIR.cluster)
        late = replace(B, start=2.5, end=5.5)
        refused(instance, Schedule([A, late]), "transfer")
        check_schedule(instance, Schedule([A, late], [Transfer("a", "w1", "w2", 2, 2, 2.5, 0)]))

    def test_a_consumer_waits_only_for_its_part(self) -> None:
        # 1 of the 4 bytes: encoded at 3 s, then 0.5 s + 1 / 2 s.
        tasks = [Task("a", seconds=2.0, output_bytes=4.0), Task("b", seconds=3.0)]
        graph = TaskGraph.from_tasks(tasks, [Edge("a", "b", nbytes=1.0)])
        instance = Instance.price(graph, PAIR.cluster)
        check_schedule(instance, Schedule([A, Assignment("b", "w2", 4.0, 7.0)], [SENT]))
        refused(
            instance, Schedule([A, Assignment("b", "w2", 3.9, 6.9)], [SENT]), "inputs", "at 4 s"
        )

    def test_two_consumers_share_a_transfer(self) -> None:
        tasks = [
            Task("a", seconds=2.0, output_bytes=4.0),
            Task("b", seconds=3.0),
            Task("c", seconds=1.0),
        ]
        graph = TaskGraph.from_tasks(tasks, [Edge("a", "b"), Edge("a", "c")])
        instance = Instance.price(graph, PAIR.cluster)
        check_schedule(instance, Schedule([A, B, Assignment("c", "w2", 8.5, 9.5)], [SENT]))

    def test_instances_are_paired_by_index(self) -> None:
        """Instance r of b takes outputs 2r and 2r + 1 of the four of a."""
        tasks = [Task("a", seconds=1.0, count=4), Task("b", seconds=1.0, count=2)]
        instance = priced(tasks, [Edge("a", "b", multiplicity=2)], Worker("w1", threads=4))
        ends = [1.0, 2.0, 3.0, 9.0]
        rows = [Assignment("a", "w1", e - 1, e, instance=r) for r, e in enumerate(ends)]
        first, second = (
            Assignment("b", "w1", t, t + 1, instance=r) for r, t in ((0, 2.0), (1, 9.0))
        )
        check_schedule(instance, Schedule([*rows, first, second]))
        early = replace(second, start=8.0, end=9.0)
        text = "instance 1 of task 'b' starts at 8 s on 'w1', but its input from instance 3"
        refused(instance, Schedule([*rows, first, early]), "inputs", text)

    def test_all_instances_need_all_outputs(self) -> None:
        """Multiplicity 3 of count 3: both instances of b wait for the last of a."""
        tasks = [Task("a", seconds=1.0, count=3), Task("b", seconds=1.0, count=2)]
        workers = (Worker("w1"), Worker("w2"))
        instance = priced(tasks, [Edge("a", "b", multiplicity=3)], *workers)
        rows = [Assignment("a", "w1", r, r + 1.0, instance=r) for r in range(3)]
        moves = [Transfer("a", "w1", "w2", r + 1.0, r + 1.0, r + 1.0, 0.0, r) for r in range(3)]
        b = [Assignment("b", w, 3.0, 4.0, instance=r) for r, w in enumerate(("w1", "w2"))]
        check_schedule(instance, Schedule([*rows, *b], moves))
        refused(instance, Schedule([*rows, *b], moves[:2]), "transfer", "instance 2 of task 'a'")
        early = replace(b[1], start=2.5, end=3.5)
        refused(instance, Schedule([*rows, b[0], early], moves), "inputs", "instance 2 of task 'a'")


class TestTransfers:
    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ({"source": "w3"}, "has the source 'w3'; it is made on 'w1'"),
            ({"destination": "w1"}, "goes to 'w1', where it is made"),
            ({"nbytes": 3.0}, "has 3 bytes; it has 4"),
            ({"nbytes": math.nan}, "has nan bytes"),
            (
                {"start": 1.0, "encoded": 2.0, "end": 4.5},
                "starts at 1 s, before the task ends at 2 s",
            ),
            ({"encoded": 2.0}, "is encoded from 2 s to 2 s; that takes 1 s"),
            ({"encoded": 3.5, "end": 6.0}, "is encoded from 2 s to 3.5 s"),
            ({"end": 5.0}, "is on its way from 3 s to 5 s; that takes 2.5 s"),
            ({"end": 5.6}, "is on its way"),
        ],
    )
    def test_what_a_transfer_cannot_be(self, change: dict[str, object], text: str) -> None:
        graph = PAIR.graph
        cluster = Cluster([Worker("w1"), Worker("w2"), Worker("w3")], LINK)
        instance = Instance.price(graph, cluster)
        check_schedule(instance, Schedule([A, B], [SENT]))
        late = replace(B, start=9.0, end=12.0)
        error = refused(instance, Schedule([A, late], [replace(SENT, **change)]), "transfer", text)
        assert error.task == "a"

    def test_twice_to_one_worker(self) -> None:
        again = replace(SENT, start=3.0, encoded=4.0, end=6.5)
        refused(PAIR, Schedule([A, B], [SENT, again]), "transfer", "goes twice to 'w2'")

    def test_to_the_wrong_worker(self) -> None:
        instance = Instance.price(
            PAIR.graph, Cluster([Worker("w1"), Worker("w2"), Worker("w3")], LINK)
        )
        moves = [replace(SENT, destination="w3")]
        refused(instance, Schedule([A, B], moves), "transfer", "no transfer of it")

    def test_it_may_start_later(self) -> None:
        late = Transfer("a", "w1", "w2", 4.0, 5.0, 7.5, 4.0)
        check_schedule(PAIR, Schedule([A, replace(B, start=7.5, end=10.5)], [late]))

    def test_one_that_nobody_needs_breaks_no_rule(self) -> None:
        rows = [A, replace(B_AT_HOME, start=3.0, end=6.0)]
        check_schedule(PAIR, Schedule(rows, [SENT]))


class TestThreads:
    TWO = priced(
        [Task("a", seconds=2.0, threads=2), Task("b", seconds=2.0)], [], Worker("w1", threads=2)
    )

    def test_side_by_side_up_to_the_limit(self) -> None:
        tasks = [Task("a", seconds=2.0), Task("b", seconds=2.0)]
        instance = priced(tasks, [], Worker("w1", threads=2))
        check_schedule(
            instance, Schedule([Assignment("a", "w1", 0, 2), Assignment("b", "w1", 1, 3)])
        )

    def test_more_than_the_worker_has(self) -> None:
        rows = [Assignment("a", "w1", 0, 2), Assignment("b", "w1", 1, 3)]
        text = (
            "at 1 s, when task 'b' comes in, running tasks and encodings take 3 threads of worker "
            "'w1'; it has 2"
        )
        error = refused(self.TWO, Schedule(rows), "threads", text)
        assert error.task == "b"

    def test_an_end_makes_room_for_a_start(self) -> None:
        check_schedule(
            self.TWO, Schedule([Assignment("a", "w1", 0, 2), Assignment("b", "w1", 2, 4)])
        )

    def test_rounding_makes_no_clash(self) -> None:
        b = Assignment("b", "w1", 2.0 - 1e-10, 4.0 - 1e-10)
        check_schedule(self.TWO, Schedule([Assignment("a", "w1", 0, 2), b]))

    def test_what_takes_no_time_occupies_nothing(self) -> None:
        tasks = [Task("a", seconds=2.0), Task("b", seconds=0.0)]
        rows = [Assignment("a", "w1", 0, 2), Assignment("b", "w1", 1, 1)]
        check_schedule(priced(tasks), Schedule(rows))

    def test_many_short_tasks_in_a_row_do_not_hide_an_overlap(self) -> None:
        tasks = [Task(f"t{i}", seconds=1e-8) for i in range(50)] + [Task("long", seconds=4e-7)]
        rows = [Assignment(f"t{i}", "w1", i * 1e-8, (i + 1) * 1e-8) for i in range(50)]
        after, beside = (Assignment("long", "w1", t, t + 4e-7) for t in (50e-8, 0.0))
        check_schedule(priced(tasks), Schedule([*rows, after]))
        refused(priced(tasks), Schedule([*rows, beside]), "threads")

    def test_encoding_takes_a_thread(self) -> None:
        """While w1 encodes from 2 s to 3 s, its only thread is not free for c."""
        graph = TaskGraph.from_tasks(
            [*PAIR.graph.tasks(), Task("c", seconds=1.0)], PAIR.graph.edges()
        )
        instance = Instance.price(graph, PAIR.cluster)
        beside, after = (Assignment("c", "w1", t, t + 1) for t in (2.5, 3.0))
        check_schedule(instance, Schedule([A, B, after], [SENT]))
        refused(
            instance, Schedule([A, B, beside], [SENT]), "threads", "take 2 threads of worker 'w1'"
        )

    def test_two_encodings_take_two_threads(self) -> None:
        tasks = [*PAIR.graph.tasks(), Task("c", seconds=1.0)]
        graph = TaskGraph.from_tasks(tasks, [Edge("a", "b"), Edge("a", "c")])
        workers = [Worker("w1"), Worker("w2"), Worker("w3")]
        instance = Instance.price(graph, Cluster(workers, LINK))
        both = [SENT, replace(SENT, destination="w3")]
        turn = [SENT, Transfer("a", "w1", "w3", 3.0, 4.0, 6.5, 4.0)]
        c = Assignment("c", "w3", 6.5, 7.5)
        check_schedule(instance, Schedule([A, B, c], turn))
        refused(instance, Schedule([A, B, c], both), "threads")


class TestResourcesAndStock:
    def test_a_resource_is_shared_up_to_its_supply(self) -> None:
        tasks = [Task(n, seconds=2.0, resources={"GPU": 0.5}) for n in "abc"]
        instance = priced(tasks, [], Worker("w1", threads=4, resources={"GPU": 1}))
        rows = [Assignment(n, "w1", t, t + 2) for n, t in zip("abc", (0, 0, 2), strict=True)]
        check_schedule(instance, Schedule(rows))
        early = [*rows[:2], replace(rows[2], start=1.0, end=3.0)]
        text = "running tasks take 1.5 GPU of worker 'w1'; it has 1"
        refused(instance, Schedule(early), "resources", text)

    def test_tenths_add_up(self) -> None:
        tasks = [Task(f"t{i}", seconds=1.0, resources={"GPU": 0.1}) for i in range(10)]
        instance = priced(tasks, [], Worker("w1", threads=10, resources={"GPU": 1}))
        check_schedule(instance, Schedule([Assignment(f"t{i}", "w1", 0, 1) for i in range(10)]))

    def test_stock_is_taken_for_good(self) -> None:
        modes = (Mode("fast", seconds=1.0, consumes={"credit": 2}), Mode("slow", seconds=5.0))
        graph = TaskGraph.from_tasks([Task("a", modes=modes), Task("b", modes=modes)])
        instance = Instance.price(graph, Cluster([Worker("w1")], stock={"credit": 3}))
        fast, slow = Assignment("a", "w1", 0, 1), Assignment("b", "w1", 1, 6, mode=1)
        check_schedule(instance, Schedule([fast, slow]))
        text = "consume 4 credit together; the cluster's stock is 3"
        refused(instance, Schedule([fast, Assignment("b", "w1", 1, 2)]), "stock", text)


class TestMemory:
    """``a`` makes 4 bytes, ``b`` takes 3 while running, ``c`` takes 5 and needs nothing."""

    GRAPH = TaskGraph.from_tasks(
        [
            Task("a", seconds=2.0, output_bytes=4.0),
            Task("b", seconds=3.0, memory=3.0),
            Task("c", seconds=1.0, memory=5.0),
        ],
        [Edge("a", "b")],
    )

    def on(self, **memory: float) -> Instance:
        workers = [Worker(name, memory=size) for name, size in memory.items()]
        return Instance.price(self.GRAPH, Cluster(workers, LINK))

    def test_inputs_are_held_while_the_consumer_runs(self) -> None:
        # From 2 s to 5 s: 4 bytes of a's output and 3 of b.
        rows = [A, B_AT_HOME, Assignment("c", "w1", 5.0, 6.0)]
        check_schedule(self.on(w1=7.0), Schedule(rows))
        with pytest.raises(Exception, match="needs 7 bytes of memory"):
            self.on(w1=6.0)

    def test_an_output_is_held_from_its_end_to_its_last_use(self) -> None:
        # c beside the held output of a: 4 + 5.
        rows = [A, Assignment("c", "w1", 2.0, 3.0), Assignment("b", "w1", 3.0, 6.0)]
        check_schedule(self.on(w1=9.0), Schedule(rows))
        text = "running tasks and held outputs take 9 bytes of memory of worker 'w1'; it has 8"
        refused(self.on(w1=8.0), Schedule(rows), "memory", text)

    def test_what_was_sent_is_held_until_it_is_encoded(self) -> None:
        # w1 holds 4 bytes until 3 s, w2 holds them from 5.5 s to 8.5 s.
        beside, after = (Assignment("c", "w1", t, t + 1) for t in (2.5, 3.0))
        workers = {"w1": 5.0, "w2": 7.0}
        check_schedule(self.on(**workers), Schedule([A, B, after], [SENT]))
        threads = Cluster([Worker("w1", threads=2, memory=5.0), Worker("w2", memory=7.0)], LINK)
        refused(Instance.price(self.GRAPH, threads), Schedule([A, B, beside], [SENT]), "memory")

    def test_what_arrives_is_held_from_its_arrival(self) -> None:
        # b starts only at 7 s, but the 4 bytes are on w2 from 5.5 s: c must be out by then.
        late = Assignment("b", "w2", 7.0, 10.0)
        fits, clashes = (Assignment("c", "w2", t, t + 1) for t in (4.5, 5.0))
        instance = self.on(w1=8.0, w2=8.0)
        check_schedule(instance, Schedule([A, late, fits], [SENT]))
        refused(instance, Schedule([A, late, clashes], [SENT]), "memory", "at 5.5 s")

    def test_an_output_that_nobody_uses_is_not_held(self) -> None:
        graph = TaskGraph.from_tasks([Task("a", seconds=1.0, output_bytes=100.0)])
        instance = Instance.price(graph, Cluster([Worker("w1", memory=1.0)]))
        check_schedule(instance, Schedule([Assignment("a", "w1", 0, 1)]))

    def test_what_takes_no_time_takes_no_room_beside_others(self) -> None:
        # From 2 s to 5 s w1 is full; c comes between u and b, after both have been there.
        tasks = [Task("a", seconds=2.0, output_bytes=4.0), Task("u", seconds=1.0, memory=4.0)]
        tasks += [Task("c", memory=8.0, seconds=0.0), Task("b", seconds=2.0, memory=4.0)]
        graph = TaskGraph.from_tasks(tasks, [Edge("a", "b"), Edge("u", "c"), Edge("c", "b")])
        instance = Instance.price(graph, Cluster([Worker("w1", memory=8.0)]))
        times = (("a", 0, 2), ("u", 2, 3), ("c", 3, 3), ("b", 3, 5))
        check_schedule(instance, Schedule([Assignment(t, "w1", s, e) for t, s, e in times]))
        assert plan(instance, Budget(seconds=0.0), ["heft"]).makespan == 5.0
        assert optimal_makespan(instance, 1.0).makespan == 5.0

    def test_what_takes_no_time_has_to_fit_on_an_idle_worker(self) -> None:
        with pytest.raises(InfeasibleInstance, match="needs 9 bytes of memory"):
            priced([Task("c", memory=9.0, seconds=0.0)], [], Worker("w1", memory=8.0))
        instance = priced(
            [Task("c", memory=9.0, seconds=0.0)],
            [],
            Worker("w1", memory=8.0),
            Worker("w2", memory=9.0),
        )
        refused(instance, Schedule([Assignment("c", "w1", 0.0, 0.0)]), "eligible")

    def test_a_paused_task_leaves_its_memory(self) -> None:
        tasks = [
            Task("a", seconds=4.0, memory=6.0, checkpoints=(0.5,)),
            Task("b", seconds=1.0, memory=6.0),
        ]
        instance = priced(tasks, [], Worker("w1", memory=6.0))
        a = Assignment("a", "w1", 0, 5, segments=((0, 2), (3, 5)))
        check_schedule(instance, Schedule([a, Assignment("b", "w1", 2, 3)]))
