"""Submissions become a graph; a schedule of it becomes places and ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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

    plain = kind_of(train)
    assert plain.startswith("train-")
    assert kind_of(train.with_options(name="train forest")) == f"{plain}:train forest"


def kinds_in(path: Path, text: str) -> list[str]:
    """The kinds of the tasks `load` and `save` in a file with this text."""
    found: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), found)
    return [kind_of(found["load"]), kind_of(found["save"])]


LOAD = "@task\ndef load(n):\n    return n\n"
SAVE = "@task\ndef save(n):\n    return n\n"


def test_an_edit_of_a_file_leaves_its_tasks_what_they_are(tmp_path: Path) -> None:
    """Prefect's keys of both change: that of `load` with its code, that of `save` with its line."""
    path, head = tmp_path / "jobs" / "etl.py", "from prefect import task\n"
    before = kinds_in(path, head + LOAD + SAVE)
    edited = LOAD.replace("return n", "n = n + 1\n    return n")
    assert kinds_in(path, head + edited + SAVE) == before
    assert len(set(before)) == 2


def test_tasks_of_one_name_in_two_projects_are_two_kinds(tmp_path: Path) -> None:
    text = "from prefect import task\n" + LOAD + SAVE
    sales, staff = (kinds_in(tmp_path / name / "etl.py", text) for name in ("sales", "staff"))
    assert set(sales).isdisjoint(staff)


def test_functions_without_a_name_are_known_by_their_code() -> None:
    once, twice = task(lambda x: x, name="f"), task(lambda x: 2 * x, name="f")
    assert kind_of(once) != kind_of(twice)
