"""TARGET of `orchestrator plan`: a file of some format, or a flow in somebody's module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidFormat, InvalidInput
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph

INSTANCE_MARK = b"orchestrator.instance/"


@dataclass(frozen=True, slots=True)
class FlowTarget:
    """A flow, by where its object stands.

    Attributes:
        source: path of a Python file, or dotted name of a module.
        attribute: the object in it; empty for the only flow there.
        parameters: with which it is to be followed, even if it has run with others.
    """

    source: str
    attribute: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileTarget:
    """What a file holds.

    Attributes:
        cluster: the machines that it states, if it does.
        instance: the prices that it states, if it is an instance of this project.
    """

    name: str
    graph: TaskGraph
    cluster: Cluster | None
    instance: Instance | None = None


def is_flow(target: str) -> FlowTarget | None:
    """The flow that the text names; None if it names a file of another kind."""
    if Path(target).suffix == ".py":
        return FlowTarget(target, "")
    source, colon, attribute = target.rpartition(":")
    if colon and attribute.isidentifier() and not Path(target).exists():
        return FlowTarget(source, attribute)
    return None


def read_file(path: str) -> FileTarget:
    """The graph in the file, and whatever else it states.

    Raises:
        InvalidInput: if it is not there, or cannot be read as any format. OSError: if it may not
            be read.
    """
    from orchestrator_core.graph.formats import Source, read

    if not Path(path).exists():
        raise InvalidInput(
            f"there is no file {path!r}; expected a workflow file, FILE.py:FLOW or MODULE:FLOW"
        )
    name = Path(path).name.removesuffix(".gz").rsplit(".", 1)[0]
    source = Source.load(path)
    if INSTANCE_MARK in source.data[:200]:
        instance = Instance.from_json(source.data)
        return FileTarget(name, instance.graph, instance.cluster, instance)
    return FileTarget(name, *read(source))


def read_cluster_file(path: Path) -> Cluster:
    """The cluster in a JSON file.

    Raises:
        InvalidInput: naming the file, if it holds none. OSError: if there is no such file.
    """
    try:
        return Cluster.from_json(path.read_bytes())
    except InvalidFormat as error:
        raise InvalidFormat(f"{path}: {error}") from None
