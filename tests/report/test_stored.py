"""Runs that read what was computed before: the plan speaks of it, the run has its own tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest

import orchestrator_core as oc
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.part import part
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.report.gantt import Bars
from orchestrator_core.report.priced import RunPrices
from orchestrator_core.report.trace.bars import planned_bars
from orchestrator_core.report.whatif import Change, what_if
from orchestrator_core.report.why import why
from orchestrator_core.report.why.binding import Binding
from tests.report.recorded import run_as_planned

STORED = "(stored) x"


def run() -> RunRecord:
    """Of `here`, 4 s, where x is, and `away`, 4 s and 1 s on the way, on another worker; it takes
    5 s."""
    tasks = [
        oc.Task(STORED, kind="(stored)", seconds=0.0, output_bytes=1.0, eligible=("a",)),
        oc.Task("here", kind="read", seconds=4.0),
        oc.Task("away", kind="read", seconds=4.0),
    ]
    edges = [oc.Edge(STORED, "here"), oc.Edge(STORED, "away")]
    cluster = oc.Cluster([oc.Worker("a"), oc.Worker("b")], oc.Link(bandwidth=1.0))
    instance = oc.Instance.price(oc.TaskGraph.from_tasks(tasks, edges), cluster)
    found = oc.plan(instance, oc.Budget(iterations=0), ["heft"])
    whole = run_as_planned(instance, found.schedule, found.lower_bound)
    own = tuple(record for record in whole.tasks if record.task != STORED)
    graph = part(instance.graph, {"here", "away"})
    return replace(whole, graph=graph, with_stored=instance.graph, tasks=own)


def test_it_survives_json():
    assert RunRecord.from_json(run().to_json()) == run()
    assert run().stored == {STORED}
    assert replace(run(), with_stored=None).stored == frozenset()


def test_a_task_waits_for_what_is_sent_to_it():
    """And where it would need nothing to be sent, others are: both on one worker take 8 s."""
    recorded = run()
    away = next(a for a in recorded.plan.schedule.assignments if a.worker == "b")
    answer = why(recorded, away.task, RunPrices.of(recorded, HistoryCosts()).instance)
    assert (answer.planned.start, answer.planned.end) == (1.0, 5.0)
    assert answer.planned.binding == Binding("transfer", STORED, "a", since=0.0)
    (option,) = answer.options.options
    assert (option.worker, option.moved, option.seconds) == ("a", pytest.approx(3.0), 4.0)


def test_pictures_show_what_ran():
    recorded = run()
    assert {bar.task for bar in Bars.of(recorded).planned} == {"here", "away"}
    assert [bar.name for bar in planned_bars(recorded) if bar.task == STORED] == [
        f"output of {STORED}"
    ]


def test_without_the_worker_that_has_it_it_would_have_to_be_made_again():
    """The other one does both tasks, one after the other."""
    prices = RunPrices.of(run(), HistoryCosts())
    answer = what_if(prices, Change(remove=("a",)), oc.Budget(iterations=50))
    (note,) = answer.notes
    assert "1 output computed before the run lay on removed workers alone" in note
    assert (answer.before, answer.after) == (5.0, 8.0)
    assert what_if(prices, Change(remove=("b",)), oc.Budget(iterations=50)).notes == ()
