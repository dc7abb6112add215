"""Epochs are planned with what will follow, by the newest earlier run that went the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect.ahead.outlook import HISTORIES, Outlook, Step
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.flow_graph import flow_graph

from ..earlier import Code, Knowing, plan_for

CLUSTER = Cluster([Worker("f", kind="fast"), Worker("s", kind="slow")])
KINDS = ("load", "heavy", "light", "end")
SECONDS = {(kind, speed): 1.0 for kind in KINDS for speed in ("fast", "slow")}


def plan(graph: TaskGraph, cluster: Cluster) -> Advice:
    return plan_for(graph, cluster, SECONDS)


def branch(kind: str, times: int, run_id: str) -> RunRecord:
    """load; when it is there, so many of a kind; when they are there, end."""
    code = Code()
    code.submit("load-0")
    code.wait("load-0", until=1.0)
    names = [f"{kind}-{i}" for i in range(times)]
    code.submit(*names)
    code.wait(*names, until=2.0)
    code.submit("end-0")
    return code.run(run_id)


class Now:
    """A run that unfolds."""

    def __init__(self, *earlier: RunRecord, answer=plan) -> None:
        self.advisor = Knowing(answer, earlier)
        self.outlook = Outlook("flow", lambda name: f"key of {name}")
        self.code = Code()

    def submit(self, *names: str) -> Step | None:
        """The next epoch; None if it comes as foreseen."""
        return self.go(self.code.submit(*names))

    def go(self, batch: Sequence[Submission]) -> Step | None:
        graph = flow_graph(batch)
        if self.outlook.goes_on(batch, graph):
            return None
        return self.outlook.plan(self.advisor, graph, CLUSTER)


def foreseen(step: Step | None) -> list[str]:
    assert step is not None
    return [submission.name for submission in step.foreseen]


HEAVY = branch("heavy", 2, "aaaaaaaaaaaa")
LIGHT = branch("light", 2, "bbbbbbbbbbbb")


def test_the_first_run_is_planned_epoch_by_epoch() -> None:
    now = Now()
    for names in (["load-0"], ["heavy-0", "heavy-1"], ["end-0"]):
        step = now.submit(*names)
        assert step is not None
        assert (foreseen(step), step.gone, step.remark) == ([], (), "")
        assert list(step.graph.names) == names
    assert len(now.advisor.asked) == 3


def test_a_known_flow_is_planned_once_with_all_that_follows() -> None:
    now = Now(HEAVY)
    step = now.submit("load-0")
    assert step is not None
    assert foreseen(step) == ["heavy-0", "heavy-1", "end-0"]
    assert [each.key for each in step.foreseen] == [
        "key of heavy-0",
        "key of heavy-1",
        "key of end-0",
    ]
    assert [each.kind for each in step.foreseen] == ["heavy", "heavy", "end"]
    assert step.graph == HEAVY.graph
    assert step.advice is not None
    assert step.advice.plan is not None
    assert step.advice.plan.predicted == 3.0
    assert step.advice.plan.lower_bound == 3.0
    assert now.submit("heavy-0", "heavy-1") is None
    assert now.submit("end-0") is None
    assert len(now.advisor.asked) == 1
    assert now.outlook.left_over() == []


def test_of_several_branches_the_newest_is_foreseen() -> None:
    now = Now(LIGHT, HEAVY)
    assert foreseen(now.submit("load-0")) == ["light-0", "light-1", "end-0"]
    assert now.advisor.read == 1, "others are not even read"


def test_a_run_that_takes_the_other_branch_is_planned_by_that_one() -> None:
    now = Now(LIGHT, HEAVY)
    now.submit("load-0")
    step = now.submit("heavy-0", "heavy-1")
    assert foreseen(step) == ["end-0"]
    assert step is not None
    assert step.gone == ("key of light-0", "key of light-1", "key of end-0")
    assert step.remark == (
        "This run goes another way than run bbbbbbbb: task 'heavy-0' was not there. "
        "It is planned as another earlier run went on."
    )
    assert list(step.graph.names) == ["heavy-0", "heavy-1", "end-0"]
    assert now.submit("end-0") is None


def test_a_run_that_goes_its_own_way_is_planned_from_what_is_known() -> None:
    now = Now(HEAVY)
    now.submit("load-0")
    step = now.submit("heavy-0", "heavy-1", "heavy-2")
    assert foreseen(step) == []
    assert step is not None
    assert step.gone == ("key of end-0",)
    assert step.remark == (
        "This run goes another way than run aaaaaaaa: task 'heavy-2' was not there. "
        "It is planned from what is known."
    )
    last = now.submit("end-0")
    assert last is not None
    assert (last.gone, last.remark) == ((), ""), "it is said once"
    assert now.outlook.left_over() == []


def test_a_first_burst_that_no_earlier_run_had_is_told_of_too() -> None:
    step = Now(HEAVY, LIGHT).submit("load-0", "load-1")
    assert step is not None
    assert "run aaaaaaaa: task 'load-1' was not there" in step.remark
    assert foreseen(step) == []


def test_more_tasks_than_before_are_planned_when_they_come() -> None:
    now = Now(HEAVY)
    for names in (["load-0"], ["heavy-0", "heavy-1"], ["end-0"]):
        now.submit(*names)
    step = now.submit("end-1")
    assert step is not None
    assert "task 'end-1' was not there" in step.remark
    assert list(step.graph.names) == ["end-1"]


def test_what_does_not_come_any_more_is_left_over() -> None:
    now = Now(HEAVY)
    now.submit("load-0")
    assert now.outlook.left_over() == ["heavy-0", "heavy-1", "end-0"]
    now.submit("heavy-0")
    assert now.outlook.left_over() == ["heavy-1", "end-0"]


def test_a_flow_of_one_burst_is_planned_as_it_is() -> None:
    code = Code()
    code.submit("load-0", "load-1")
    now = Now(code.run())
    step = now.submit("load-0", "load-1")
    assert step is not None
    assert (foreseen(step), step.remark) == ([], "")
    assert len(now.advisor.asked) == 1


def test_what_is_not_worth_following_is_not_judged_again_with_each_epoch() -> None:
    def refuse(graph: TaskGraph, cluster: Cluster) -> Advice:
        from dataclasses import replace

        advice = plan(graph, cluster)
        assert advice.plan is not None
        return replace(advice, plan=replace(advice.plan, adopted=False))

    now = Now(HEAVY, answer=refuse)
    assert len(foreseen(now.submit("load-0"))) == 3
    assert now.submit("heavy-0", "heavy-1") is None
    assert len(now.advisor.asked) == 1


def test_what_cannot_be_planned_as_a_whole_is_planned_epoch_by_epoch() -> None:
    """Nobody knows how long a heavy task takes, such as one that was always found in a cache."""

    def only_light(graph: TaskGraph, cluster: Cluster) -> Advice:
        known = "heavy" not in graph.kinds
        return plan(graph, cluster) if known else Advice(None, "first run")

    now = Now(HEAVY, answer=only_light)
    step = now.submit("load-0")
    assert step is not None
    assert step.advice is not None
    assert step.advice.plan is not None
    assert (list(step.graph.names), foreseen(step)) == (["load-0"], [])
    later = now.submit("heavy-0", "heavy-1")
    assert later is not None
    assert later.advice == Advice(None, "first run")
    assert [len(graph) for graph in now.advisor.asked] == [4, 1, 2]


def test_an_advisor_without_a_memory_is_asked_epoch_by_epoch() -> None:
    class Forgetful:
        asked = 0

        def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
            self.asked += 1
            return plan(graph, cluster)

    now = Now()
    now.advisor = Forgetful()
    now.submit("load-0")
    now.submit("end-0")
    assert now.advisor.asked == 2


def test_only_so_many_earlier_runs_are_read() -> None:
    now = Now(*(branch("heavy", i + 1, f"{i:08d}") for i in range(HISTORIES + 5)))
    now.submit("light-0")
    now.submit("light-1")
    assert now.advisor.read == HISTORIES


def test_what_an_earlier_run_ended_without_is_planned_by_nobody() -> None:
    now = Now(replace(HEAVY, dropped=("heavy-1", "end-0")))
    step = now.submit("load-0")
    assert step is not None
    assert foreseen(step) == ["heavy-0"]
    assert list(step.graph.names) == ["load-0", "heavy-0"]
    assert now.submit("heavy-0", "heavy-1") is None
    assert now.outlook.aside == {"heavy-1", "end-0"}
    assert now.outlook.left_over() == []
    assert now.submit("end-0") is None


def test_a_flow_that_never_waited_for_anything_is_planned_as_a_whole() -> None:
    code = Code()
    code.submit("load-0", "load-1")
    run = replace(code.run(), dropped=("load-0", "load-1"))
    step = Now(run).submit("load-0", "load-1")
    assert step is not None
    assert list(step.graph.names) == ["load-0", "load-1"]
    assert step.aside == frozenset()
