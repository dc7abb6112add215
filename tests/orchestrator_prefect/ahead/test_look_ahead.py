"""What is submitted is planned together with what will follow, at the pace of the flow's code."""

from __future__ import annotations

import pytest

from orchestrator_core.costs.model import TableCosts
from orchestrator_core.costs.sizes import with_sizes
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.paced import paced
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.schedule import Schedule
from orchestrator_prefect.ahead.look_ahead import look_ahead, whole_graph
from orchestrator_prefect.ahead.unfolding import Unfolding
from orchestrator_prefect.sending.flow_graph import flow_graph

from ..earlier import Code, plan_for

CLUSTER = Cluster([Worker("f", kind="fast"), Worker("s", kind="slow")])

SECONDS = {
    ("probe", "fast"): 2.0,
    ("probe", "slow"): 4.0,
    ("bulk", "fast"): 4.0,
    ("bulk", "slow"): 6.0,
    ("train", "fast"): 4.0,
    ("train", "slow"): 16.0,
}


def advise(graph: TaskGraph) -> Advice:
    return plan_for(graph, CLUSTER, SECONDS)


def places(schedule: Schedule) -> dict[str, tuple[str, float, float]]:
    return {row.task: (row.worker, row.start, row.end) for row in schedule.assignments}


def probed(pause: float = 0.0) -> Code:
    """probe and bulk are submitted; when probe's result is there, train."""
    code = Code()
    code.submit("probe-0", "bulk-0")
    code.wait("probe-0", until=9.0, pause=pause)
    code.submit("train-0")
    return code


def begun(code: Code) -> tuple[TaskGraph, Unfolding]:
    """The first burst of the same flow, and the earlier run beside it."""
    now = Code()
    batch = now.submit("probe-0", "bulk-0")
    graph, way = flow_graph(batch), Unfolding(code.run())
    way.take(batch, graph)
    return graph, way


def ahead(code: Code) -> Advice:
    graph, way = begun(code)
    coming = way.coming()
    return look_ahead(advise, whole_graph(graph, way.run.graph, coming), CLUSTER, coming)


def test_one_burst_alone_takes_a_third_longer_than_the_whole() -> None:
    """
    alone       fast  bulk |train          slow  probe            4 s are the optimum of the first
                      0----4-----8               0-----4          burst, by the bound; 8 s for both
    looking     fast  probe|train          slow  bulk             6 s, the optimum of the whole
    ahead             0----2-----6               0-----6
    """
    alone = advise(begun(probed())[0]).plan
    assert alone is not None
    assert alone.predicted == pytest.approx(4.0)
    assert alone.lower_bound == pytest.approx(4.0)
    rows = places(alone.schedule)
    assert (rows["probe-0"][0], rows["bulk-0"][0]) == ("s", "f")
    # `train` then waits for the probe on the slow worker, and takes 4 s at least.
    assert rows["probe-0"][2] + 4.0 == pytest.approx(8.0)

    plan = ahead(probed()).plan
    assert plan is not None
    assert plan.predicted == pytest.approx(6.0)
    assert plan.lower_bound == pytest.approx(6.0)
    found = places(plan.schedule)
    assert found["probe-0"] == ("f", 0.0, 2.0)
    assert found["bulk-0"] == ("s", 0.0, 6.0)
    assert found["train-0"][:2] == ("f", pytest.approx(2.0))


def test_a_short_pause_of_the_code_is_part_of_the_forecast() -> None:
    """0.0625 s between the probe's end and train: so much later, with the plan of before."""
    plan = ahead(probed(pause=0.0625)).plan
    assert plan is not None
    assert plan.predicted == pytest.approx(6.0625)
    assert plan.default_predicted == pytest.approx(12.0625)
    assert plan.lower_bound == pytest.approx(6.0)
    assert places(plan.schedule)["train-0"][1:] == (pytest.approx(2.0625), pytest.approx(6.0625))


def test_a_long_pause_of_the_code_is_planned_with() -> None:
    """4 s of Python: the fast worker does bulk meanwhile, and train after it.

    fast  probe|bulk|train        bulk on the slow worker would not end sooner
          0----2----6----10
    """
    asked: list[TaskGraph] = []

    def asking(graph: TaskGraph) -> Advice:
        asked.append(graph)
        return advise(graph)

    graph, way = begun(probed(pause=4.0))
    coming = way.coming()
    whole = whole_graph(graph, way.run.graph, coming)
    advice = look_ahead(asking, whole, CLUSTER, coming)
    assert [each.task("train-0").release for each in asked] == [0.0, 6.0]
    assert advice.plan is not None
    assert advice.plan.predicted == pytest.approx(10.0)
    assert advice.plan.lower_bound == pytest.approx(6.0), "proven without the pause"
    assert advice.instance is not None
    check_schedule(advice.instance, advice.plan.schedule)
    assert paced(advice.plan.schedule, whole, CLUSTER, coming).schedule == advice.plan.schedule


def test_releases_of_runs_alike_are_alike() -> None:
    """Pauses of 4.0 and 4.04 s ask for the same plan; it is stored under what is asked."""
    asked: list[TaskGraph] = []

    def asking(graph: TaskGraph) -> Advice:
        asked.append(graph)
        return advise(graph)

    for pause in (4.0, 4.04):
        graph, way = begun(probed(pause))
        coming = way.coming()
        look_ahead(asking, whole_graph(graph, way.run.graph, coming), CLUSTER, coming)
    assert asked[1] == asked[3] != asked[0]


def test_the_whole_is_what_is_submitted_with_its_inputs_to_what_comes() -> None:
    code = Code()
    code.submit("load-0", "load-1")
    code.submit("join-0", after=("load-0", "load-1"))
    code.wait("load-0", until=1.0)
    code.submit("report-0", after=("join-0",), waits_for=("load-1",))
    run = code.run()
    now = Code().submit("load-0", "load-1", GPU=1)
    now[0].annotations = {"resources": {"GPU": 1}}
    way = Unfolding(run)
    whole = whole_graph(flow_graph(now), run.graph, [(["join-0", "report-0"], run.bursts[0])])
    assert whole.names == run.graph.names
    assert whole.task("load-0").resources == {"GPU": 1.0}, "what is said now counts"
    assert list(whole.edges()) == list(run.graph.edges())
    assert way.departure == ""


def test_an_end_that_is_waited_for_takes_no_time_to_send() -> None:
    """`probe` makes 1 GB, of which `train` takes nothing, and `show` all."""
    code = probed()
    code.submit("show-0", after=("probe-0",))
    sized = with_sizes(code.run().graph, TableCosts({}, {"probe": 1e9}))
    assert {(e.producer, e.consumer, e.nbytes) for e in sized.edges()} == {
        ("probe-0", "train-0", 0.0),
        ("probe-0", "show-0", 1e9),
    }
