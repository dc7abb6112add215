"""What was found about a graph is known to later processes, with other names, until it is stale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidFormat, OrchestratorError
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.measures.measures import Measures
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.orchestrate import at_once, case
from orchestrator_core.orchestrate.at_once import AtOnce
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.finding import (
    Finding,
    Refinement,
    decode_finding,
    encode_finding,
)
from orchestrator_core.orchestrate.forecaster import Forecaster
from orchestrator_core.orchestrate.judged import Basis, Judged, unsure
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.question import Question
from orchestrator_core.orchestrate.thrifty import saving
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.store.sql import ScheduleStore
from tests.execute.memory_graphs import stream, tree
from tests.orchestrate.test_thrifty import slow_but_small
from tests.store.records import a_run

GAIN = 0.05

STEPS = Budget(iterations=20)
"""Not seconds: on a busy machine a search of some milliseconds finds anything."""


@pytest.fixture(autouse=True)
def _by_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked for when a run is over is looked for by steps, too."""
    monkeypatch.setattr(at_once, "share_of", lambda instance: STEPS)


class Process:
    """What one process knows, with what is stored."""

    def __init__(self, path: Path) -> None:
        self.store = ScheduleStore(path)
        self.memory = Memory(self.store, in_memory=True)
        assert self.memory.refresh()
        planner = Forecaster(self.memory, budget=STEPS)
        self.quick = AtOnce(planner.schedule, self.memory)

    def asked(
        self, instance: Instance, lessons: Lessons | None = None, gain: float = GAIN
    ) -> Advice:
        lessons = lessons or Lessons()
        question = Question(
            instance.graph, instance.cluster, "flow", min_gain=gain, lessons=lessons
        )
        return self.quick.advice(instance, instance, question)

    def end(self) -> None:
        self.memory.close()
        self.store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a store with a run in it: without one there is nothing to load."""
    store = ScheduleStore(tmp_path / "s.db")
    store.add_run(a_run())
    store.close()
    return tmp_path / "s.db"


@pytest.fixture
def first(path: Path) -> Iterator[Process]:
    process = Process(path)
    yield process
    process.end()


def refine(advice: Advice) -> Advice:
    assert advice.refine is not None
    return advice.refine()


def refuses(*arguments: object) -> None:
    raise AssertionError("it was judged again")


def renamed(instance: Instance) -> Instance:
    """The same graph on the same workers, all with other names, and the workers in reverse."""
    text = instance.graph.to_json()
    for name in (b"load-", b"step-"):
        text = text.replace(b'"' + name, b'"other-' + name)
    workers = instance.cluster.workers
    link = instance.cluster.link(workers[0].name, workers[1].name)
    others = Cluster([replace(each, name=f"host-{each.name}") for each in workers][::-1], link)
    return Instance.price(TaskGraph.from_json(text), others)


class TestProcesses:
    def test_what_took_long_to_find_is_a_hit_in_the_next_process(
        self, path: Path, first: Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        instance = tree(128)
        found = refine(first.asked(instance))
        first.memory.settle(10.0)
        second = Process(path)
        monkeypatch.setattr(case, "judged", refuses)
        again = second.asked(instance)
        assert again.plan is not None
        assert found.plan is not None
        assert again.plan.cache == "hit"
        assert again.adopted
        assert again.plan.schedule == found.plan.schedule
        assert (again.holds, again.thrifty) == (found.holds, found.thrifty)
        assert saving(instance, again.plan.schedule) > 0.3
        second.end()

    def test_a_refusal_is_remembered(
        self, path: Path, first: Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A plan saves no nine tenths, and holds too little to be followed for that."""
        instance = tree(32, chunk=1000.0)
        refused = refine(first.asked(instance, gain=0.9))
        assert not refused.adopted
        first.memory.settle(10.0)
        second = Process(path)
        with monkeypatch.context() as patch:
            patch.setattr(case, "judged", refuses)
            assert second.asked(instance, gain=0.9).reason == refused.reason
        # The gain that is asked for is another one.
        assert second.asked(instance, gain=0.0).adopted
        second.end()

    def test_a_refusal_is_thought_over_when_runs_taught_something(
        self, path: Path, first: Process
    ) -> None:
        instance = tree(32, chunk=1000.0)
        refused = refine(first.asked(instance, gain=0.5))
        assert not refused.adopted
        assert refused.plan is not None
        slow = Lessons(dask=[10 * refused.plan.predicted] * 3)
        first.memory.settle(10.0)
        second = Process(path)
        assert second.asked(instance, slow, gain=0.5).adopted
        second.memory.settle(10.0)
        second.end()
        third = Process(path)
        assert third.asked(instance, slow, gain=0.5).adopted
        third.end()

    def test_lessons_of_the_run_that_is_over_change_what_is_known(
        self, first: Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Judged when nobody waits, so that the next answer need not be."""
        instance, lessons = tree(32, chunk=1000.0), Lessons()
        refused = refine(first.asked(instance, lessons, gain=0.5))
        assert refused.plan is not None
        asked = first.asked(instance, lessons, gain=0.5)
        assert not asked.adopted
        lessons.dask = [10 * refused.plan.predicted] * 3
        assert refine(asked).adopted
        monkeypatch.setattr(case, "judged", refuses)
        assert first.asked(instance, lessons, gain=0.5).adopted

    def test_other_costs_are_planned_for_anew(self, path: Path, first: Process) -> None:
        instance = tree(128)
        refine(first.asked(instance))
        first.memory.settle(10.0)
        second = Process(path)
        other = replace(instance, seconds=instance.seconds * 2)
        again = second.asked(other)
        assert again.plan is not None
        assert again.plan.cache == "hit"
        assert again.plan.predicted > 10.0
        assert 0 < again.plan.lower_bound <= again.plan.schedule.makespan
        assert saving(other, again.plan.schedule) > 0.3
        assert (refined := refine(again).plan) is not None
        assert refined.cache == "miss"
        second.end()


class TestFewerBytes:
    def test_what_is_not_worth_following_any_more_gives_way_to_what_holds_more(
        self, first: Process
    ) -> None:
        instance = tree(32, chunk=1000.0)
        keys = Keys.of(instance.graph, instance.cluster)
        bucket = keys.priced(instance, MAKESPAN).cost_bucket
        known = slow_but_small(instance)
        then = Judged(True, "it was", 1.0, 2.0, Basis.of(Lessons([99.0]), GAIN, 0.0))
        first.quick._refinements.keep(keys, instance, Finding(known, bucket, then))
        again = first.asked(instance)
        assert not again.adopted
        better = refine(again)
        assert better.adopted
        assert first.asked(instance).adopted


class TestText:
    INSTANCE = stream(6)

    def finding(self) -> Finding:
        planner = Forecaster(Memory(None, in_memory=True), budget=Budget(seconds=0.02))
        result, _ = planner.schedule(self.INSTANCE, budget=Budget(iterations=0))
        hold = Hold(frozenset(["step-0"]), frozenset(["load-1", "step-1"]), 3.5)
        judged = Judged(True, "planned: it pays", 3.0, None, Basis(0.05, 4.0, 0.5, -0.1, 0.2))
        refinement = Refinement(result, Measures({"load-3": hold}, True), True, 0.4, "remark; ")
        return Finding(refinement, "w1", judged)

    def text(self) -> bytes:
        keys = Keys.of(self.INSTANCE.graph, self.INSTANCE.cluster)
        return encode_finding(self.finding(), self.INSTANCE, keys.graph)

    def test_it_is_read_in_other_names(self) -> None:
        other = renamed(self.INSTANCE)
        read = decode_finding(self.text(), other, Keys.of(other.graph, other.cluster).graph)
        found = self.finding()
        mine, theirs = found.refinement, read.refinement
        assert (read.judged, read.cost_bucket) == (found.judged, "w1")
        assert (theirs.thrifty, theirs.saves, theirs.remark) == (True, 0.4, "remark; ")
        assert {
            (f"other-{a.task}", f"host-{a.worker}", a.start, a.end)
            for a in mine.result.schedule.assignments
        } == {(a.task, a.worker, a.start, a.end) for a in theirs.result.schedule.assignments}
        done = frozenset(["other-load-1", "other-step-1"])
        hold = Hold(frozenset(["other-step-0"]), done, 3.5)
        assert theirs.measures == Measures({"other-load-3": hold}, True)

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text[:-1],
            lambda text: text.replace(b"finding/3", b"finding/9"),
            lambda text: text.replace(b'"thrifty"', b'"value"'),
            lambda text: b"\xff",
        ],
    )
    def test_what_is_no_finding_is_refused(self, change: object) -> None:
        assert callable(change)
        graph = Keys.of(self.INSTANCE.graph, self.INSTANCE.cluster).graph
        with pytest.raises(InvalidFormat):
            decode_finding(change(self.text()), self.INSTANCE, graph)

    def test_a_finding_about_another_graph_is_refused(self) -> None:
        small = stream(2)
        graph = Keys.of(small.graph, small.cluster).graph
        with pytest.raises(OrchestratorError):
            decode_finding(self.text(), small, graph)


@pytest.mark.parametrize(
    ("lessons", "resembles"),
    [
        (Lessons([4.0, 4.0, 4.0, 4.0]), True),
        (Lessons([4.1, 4.1, 4.1]), True),
        (Lessons([5.0, 5.0, 5.0]), False),
        (Lessons([4.0]), False),
        (Lessons([]), False),
        (Lessons([4.0, 4.0, 4.0], drift=0.2), False),
    ],
)
def test_a_judgement_stands_until_something_else_was_learned(
    lessons: Lessons, resembles: bool
) -> None:
    basis = Basis.of(Lessons([4.0, 4.0, 4.0]), GAIN, 0.1)
    assert basis.resembles(Basis.of(lessons, GAIN, 0.12)) is resembles
    assert not basis.resembles(Basis.of(lessons, 0.1, 0.1))


def test_a_judgement_falls_when_tasks_turn_out_to_be_surer() -> None:
    """The first run has to believe that new tasks may take several times as long."""
    instance = stream(6)
    unsure_at_first, sure = (
        Basis.of(Lessons([4.0]), GAIN, unsure(instance, longer(instance, factor)))
        for factor in (3.0, 1.1)
    )
    assert sure.unsure == pytest.approx(math.log(1.1))
    assert not sure.resembles(unsure_at_first)


def longer(instance: Instance, factor: float) -> Instance:
    return Instance(instance.graph, instance.cluster, instance.seconds * factor)
