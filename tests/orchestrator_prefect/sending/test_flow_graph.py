"""Submissions become a graph; a schedule of it becomes places and ranks."""

from __future__ import annotations

from prefect import task

from orchestrator_core.execute.directives import Slot
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.flow_graph import Occurrences, flow_graph, kind_of, slots


def test_names_count_the_submissions_of_each_task_and_never_collide() -> None:
    names = Occurrences()
    given = [names.name(task) for task in ("load", "load", "train", "load-1", "load")]
    assert given == ["load-0", "load-1", "train-0", "load-1-0", "load-2"]
    assert len(set(given)) == len(given)


def test_outputs_and_ends_become_edges() -> None:
    """
    load ===> train ---> report      === the output, --- the end only
    (before) ===> train              an earlier epoch: not in this graph
    """
    graph = flow_graph(
        [
            Submission("load-0", "load", "k0"),
            Submission("train-0", "train", "k1", after=("load-0", "before-0", "load-0")),
            Submission("report-0", "report", "k2", waits_for=("train-0", "train-0")),
        ]
    )
    assert graph.names == ("load-0", "train-0", "report-0")
    assert graph.kinds == ("load", "train", "report")
    edges = [(edge.producer, edge.consumer) for edge in graph.edges()]
    assert edges == [("load-0", "train-0"), ("train-0", "report-0")]


def test_a_task_that_takes_an_output_and_waits_for_it_too_has_one_edge() -> None:
    graph = flow_graph(
        [
            Submission("a-0", "a", "k0"),
            Submission("b-0", "b", "k1", after=("a-0",), waits_for=("a-0",)),
        ]
    )
    assert graph.n_edges == 1


def test_annotations_become_demands() -> None:
    gpu = Submission("a-0", "a", "k0", annotations={"resources": {"GPU": 1}})
    pinned = Submission("b-0", "b", "k1", annotations={"workers": ["w1", 2]})
    preferred = Submission(
        "c-0", "c", "k2", annotations={"workers": "w1", "allow_other_workers": True}
    )
    graph = flow_graph([gpu, pinned, preferred])
    assert graph.task("a-0").resources == {"GPU": 1.0}
    assert [graph.task(name).eligible for name in graph.names] == [None, ("w1", "2"), None]


def test_ranks_follow_the_starts_and_tasks_of_other_epochs_are_left_out() -> None:
    schedule = Schedule(
        [
            Assignment("late-0", "w1", 5.0, 6.0, mode=1),
            Assignment("early-0", "w0", 0.0, 5.0),
            Assignment("elsewhere-0", "w0", 1.0, 2.0),
        ]
    )
    batch = [Submission("early-0", "e", "ke"), Submission("late-0", "l", "kl")]
    assert slots(schedule, batch) == {"ke": Slot("w0", 0, 0), "kl": Slot("w1", 2, 1)}


def test_a_function_under_a_name_of_its_own_is_a_kind_of_its_own():
    @task
    def train(model):
        return model

    assert kind_of(train) == train.task_key
    assert kind_of(train.with_options(name="train forest")) == f"{train.task_key}:train forest"
