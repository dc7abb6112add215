"""Who takes the first results of a graph and lets go of the rest is not served by a plan."""

from __future__ import annotations

from dataclasses import replace

from orchestrator_core import Orchestrator, RunRecord, TaskGraph
from orchestrator_core.orchestrate.decider import CUT_SHORT
from orchestrator_core.plan.budget import Budget
from orchestrator_core.store.memory import MemoryStore
from tests.orchestrate.test_distinguish import alike, taught

BRIEF = Budget(seconds=0.02)


def told(orchestrator: Orchestrator, run: RunRecord) -> None:
    orchestrator.record(run)
    orchestrator._memory.settle(10.0)


def reason(orchestrator: Orchestrator, graph: TaskGraph) -> str:
    return orchestrator.advise(graph, alike(), "flow").reason


def test_a_graph_whose_last_run_was_cut_short_is_left_to_dask_until_one_ends() -> None:
    store = MemoryStore()
    graph = taught(store, 4, 1, 1, 1)
    whole = store.run("r1")
    *dropped, result = graph.names
    done = tuple(each for each in whole.tasks if each.task == result)
    cut = replace(
        whole,
        run_id="cut",
        started_at=1.0,
        tasks=done,
        status="cancelled",
        dropped=tuple(dropped),
    )

    scheduler = Orchestrator(store, budget=BRIEF, hasty=True)
    assert reason(scheduler, graph).startswith("planned: ")
    told(scheduler, cut)
    assert reason(scheduler, graph) == CUT_SHORT
    scheduler.close()

    later = Orchestrator(store, budget=BRIEF, hasty=True)
    later.warm_up()
    assert reason(later, graph) == CUT_SHORT
    told(later, replace(whole, run_id="whole", started_at=2.0))
    assert reason(later, graph).startswith("planned: ")
    later.close()
