"""WfCommons instances, in the schema of today and in older ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator_core.costs import Instance
from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph import Cluster, TaskGraph
from orchestrator_core.graph.formats import read_cluster, read_workflow

ROOT = Path(__file__).parents[3]
INSTANCE = ROOT / "tests" / "instances" / "wfcommons-srasearch-10a.json.gz"

RECENT: dict[str, Any] = {
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {
                    "name": "split_ID01",
                    "id": "split_ID01",
                    "children": ["work_ID02"],
                    "inputFiles": ["raw"],
                    "outputFiles": ["part", "log"],
                },
                {
                    "name": "work_ID02",
                    "id": "work_ID02",
                    "parents": ["split_ID01"],
                    "inputFiles": ["part", "raw"],
                    "outputFiles": ["result"],
                },
            ],
            "files": [
                {"id": "raw", "sizeInBytes": 1000},
                {"id": "part", "sizeInBytes": 300},
                {"id": "log", "sizeInBytes": 7},
                {"id": "result", "sizeInBytes": 20},
            ],
        },
        "execution": {
            "tasks": [
                {
                    "id": "split_ID01",
                    "runtimeInSeconds": 1.5,
                    "coreCount": 4,
                    "memoryInBytes": 5000,
                    "command": {"program": "/opt/bin/splitter"},
                },
                {"id": "work_ID02", "runtimeInSeconds": 2, "command": {"program": "python"}},
            ],
            "machines": [
                {"nodeName": "m1", "cpu": {"coreCount": 8}, "memoryInBytes": 32e9},
                {"nodeName": "m2", "cpu": {"coreCount": 8}, "memoryInBytes": 32e9},
            ],
        },
    },
}

OLD: dict[str, Any] = {
    "schemaVersion": "1.3",
    "workflow": {
        "tasks": [
            {
                "name": "split",
                "id": "ID01",
                "runtime": 1.5,
                "cores": 4,
                "memory": 5,
                "category": "splitter",
                "files": [
                    {"link": "input", "name": "raw", "size": 1000},
                    {"link": "output", "name": "part", "size": 300},
                    {"link": "output", "name": "log", "size": 7},
                ],
            },
            {
                "name": "work",
                "id": "ID02",
                "runtime": 2,
                "parents": ["split"],
                "files": [
                    {"link": "input", "name": "part", "size": 300},
                    {"link": "input", "name": "raw", "size": 1000},
                    {"link": "output", "name": "result", "size": 20},
                ],
            },
        ],
        "machines": [{"nodeName": "m1", "cpu": {"count": 8}, "memory": 32_000_000}],
    },
}


def read(tmp_path: Path, instance: dict[str, Any]) -> tuple[TaskGraph, Cluster | None]:
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(instance, indent=1), encoding="utf-8")
    return read_workflow(path), read_cluster(path)


def changed(instance: dict[str, Any], change: tuple[str, str]) -> dict[str, Any]:
    text = json.dumps(instance)
    assert change[0] in text
    made: dict[str, Any] = json.loads(text.replace(*change))
    return made


def test_a_real_execution_has_its_published_figures() -> None:
    graph, cluster = read_workflow(INSTANCE), read_cluster(INSTANCE)
    assert cluster is not None
    assert (len(graph), graph.n_edges) == (22, 30)
    assert graph.mode_seconds.sum() == pytest.approx(6996.779)
    assert set(graph.kinds) == {"bowtie2-build", "fasterq-dump", "bowtie2", "merge"}
    assert [worker.threads for worker in cluster.workers] == [48]
    assert Instance.price(graph, cluster).best_seconds.sum() == pytest.approx(6996.779)


@pytest.mark.parametrize(
    ("name", "tasks", "edges"),
    [
        ("montage-chameleon-2mass-005d-001", 58, 114),
        ("cycles-chameleon-1l-1c-9p-001", 67, 97),
        ("srasearch-chameleon-40a-002", 84, 122),
    ],
)
def test_the_instances_that_the_examples_use_can_be_read(name: str, tasks: int, edges: int) -> None:
    graph = read_workflow(ROOT / "examples" / "data" / f"{name}.json.gz")
    assert (len(graph), graph.n_edges) == (tasks, edges)


def test_an_edge_carries_the_files_that_pass_between_its_tasks(tmp_path: Path) -> None:
    """`part` passes; `log` is written but not read, and `raw` is read but comes from outside."""
    graph, _ = read(tmp_path, RECENT)
    (edge,) = graph.edges()
    assert (edge.producer, edge.consumer, edge.nbytes) == ("split_ID01", "work_ID02", 300)
    assert graph.output_bytes.tolist() == [307, 20]


def test_kinds_are_programs_unless_these_run_anything(tmp_path: Path) -> None:
    graph, _ = read(tmp_path, RECENT)
    assert [task.kind for task in graph.tasks()] == ["splitter", "work"]


def test_threads_memory_and_machines_are_as_stated(tmp_path: Path) -> None:
    graph, cluster = read(tmp_path, RECENT)
    assert cluster is not None
    assert graph.mode_threads.tolist() == [4, 1]
    assert graph.mode_memory.tolist() == [5000, 0]
    assert cluster.names == ("m1", "m2")
    assert cluster.kinds == ("8t-32g",)


def test_an_old_instance_says_the_same(tmp_path: Path) -> None:
    """Schema 1.3 tells parents by name and memory in kilobytes."""
    graph, cluster = read(tmp_path, OLD)
    recent, _ = read(tmp_path, RECENT)
    assert graph.names == ("split_ID01", "work_ID02")
    for column in ("mode_seconds", "mode_threads", "mode_memory", "output_bytes", "nbytes"):
        assert getattr(graph, column).tolist() == getattr(recent, column).tolist()
    assert [task.kind for task in graph.tasks()] == ["splitter", "work"]
    assert cluster is not None
    assert cluster.workers[0].memory == 32e9


def test_the_oldest_call_tasks_jobs_and_may_tell_edges_by_files_alone(tmp_path: Path) -> None:
    instance = changed(OLD, ('"parents": ["split"]', '"parents": []'))
    instance["workflow"]["jobs"] = instance["workflow"].pop("tasks")
    graph, _ = read(tmp_path, instance)
    assert [(e.producer, e.consumer, e.nbytes) for e in graph.edges()] == [
        ("split_ID01", "work_ID02", 300)
    ]


def test_an_old_task_that_tells_no_parent_comes_after_who_wrote_what_it_reads(
    tmp_path: Path,
) -> None:
    """Beside tasks that tell theirs; but `split`, which reads what `work` writes anew, is the first
    of all, since `work` says so."""
    instance = changed(OLD, ('"name": "raw"', '"name": "result"'))
    read_by_hand = {"link": "input", "name": "result", "size": 20}
    instance["workflow"]["tasks"].append({"name": "look", "id": "ID03", "files": [read_by_hand]})
    graph, _ = read(tmp_path, instance)
    assert [(e.producer, e.consumer, e.nbytes) for e in graph.edges()] == [
        ("split_ID01", "work_ID02", 300),
        ("work_ID02", "look_ID03", 20),
    ]


def test_what_was_not_measured_stays_unknown(tmp_path: Path) -> None:
    instance = changed(RECENT, ('"runtimeInSeconds": 1.5, ', ""))
    instance["workflow"]["execution"].pop("machines")
    graph, cluster = read(tmp_path, instance)
    assert [task.seconds for task in graph.tasks()] == [None, 2]
    assert cluster is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"parents": ["split_ID01"]', '"parents": ["x"]'), r"'work_ID02' names the parent 'x'"),
        (('"children": ["work_ID02"]', '"children": ["y"]'), r"'split_ID01' names the child 'y'"),
        (('"runtimeInSeconds": 1.5', '"runtimeInSeconds": "1.5"'), r"Expected `float \| null`"),
        (('"runtimeInSeconds": 1.5', '"runtimeInSeconds": -1'), r"'split_ID01' has seconds = -1"),
        (('"specification"', '"spec"'), r"expected `workflow\.specification\.tasks`"),
        (('"workflow"', '"flow"'), r"missing required field `workflow`"),
        (("work_ID02", "split_ID01"), r"two tasks are named 'split_ID01'"),
    ],
)
def test_a_mistake_is_told_with_its_place(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(InvalidFormat, match=rf"instance\.json: .*{message}"):
        read(tmp_path, changed(RECENT, change))


def test_broken_json_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{"workflow":\n {"tasks":\n [}\n', encoding="utf-8")
    with pytest.raises(InvalidFormat, match=r"broken\.json, line 3: no JSON"):
        read_workflow(path)
