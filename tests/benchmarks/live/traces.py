"""Recorded workflows (WfCommons), replayed: their structure, with times and sizes scaled down."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from orchestrator_core.graph.formats import read_workflow
from orchestrator_core.graph.task_graph import TaskGraph
from tests.benchmarks.live.workload import Key, Step, Workload

ROOT = Path(__file__).resolve().parents[3]
OWN = (ROOT / "examples" / "data", ROOT / "tests" / "instances")
SECONDS = 3.0
"""Least time, in seconds, that a replay takes on the cluster; it takes a little more."""

LARGEST_BYTES, ALL_BYTES = 20e6, 400e6
"""Of one output, and of all outputs of a workflow."""


def traces(data: Path | None, most_tasks: int, speeds: tuple[float, ...]) -> list[Workload]:
    """The workflows in `data` (or in its folder `wfcommons`), or those of this repository."""
    folders = OWN if data is None else (data / "wfcommons", data)
    files = sorted(path for folder in folders for path in folder.glob("*.json.gz"))
    found = [(path, read_workflow(path)) for path in files]
    return [replay(path, graph, speeds) for path, graph in found if len(graph) <= most_tasks]


def replay(path: Path, graph: TaskGraph, speeds: tuple[float, ...]) -> Workload:
    """A workflow that takes about `SECONDS` on workers of these speeds."""
    name = path.name.removesuffix(".json.gz").removeprefix("wfcommons-")
    inputs: dict[int, list[int]] = defaultdict(list)
    for producer, consumer in zip(graph.producer.tolist(), graph.consumer.tolist(), strict=True):
        inputs[consumer].append(producer)
    keys: list[Key] = [(kind, i) for i, kind in enumerate(_kinds(graph))]
    order = graph.topological.tolist()
    longest = dict.fromkeys(order, 0.0)
    steps: dict[Key, Step] = {}
    for i in order:
        seconds = float(graph.mode_seconds[i])
        longest[i] = seconds + max((longest[j] for j in inputs[i]), default=0.0)
        above = tuple(keys[j] for j in sorted(set(inputs[i])))
        steps[keys[i]] = Step(seconds, int(graph.output_bytes[i]), above)
    least = max(float(graph.mode_seconds.sum()) / sum(speeds), max(longest.values()) / max(speeds))
    return Workload(name, steps, "traces").scaled(SECONDS / least, _byte_scale(graph))


def _kinds(graph: TaskGraph) -> list[str]:
    return [graph.kinds[k] for k in graph.kind_of.tolist()]


def _byte_scale(graph: TaskGraph) -> float:
    sizes = graph.output_bytes
    largest, total = float(sizes.max()), float(sizes.sum())
    return min(1.0, LARGEST_BYTES / max(largest, 1.0), ALL_BYTES / max(total, 1.0))
