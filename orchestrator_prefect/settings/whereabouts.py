"""Where a flow's tasks are to run: what `DaskTaskRunner` would find wrong only during the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefect.task_runners import TaskRunner

from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.text import shown


def check_cluster(cluster: object, address: object, cluster_class: object) -> None:
    """Whatever a Dask client can connect to is a cluster; whatever can be called makes one.

    Raises:
        InvalidInput: naming the argument that cannot be used, and what is possible.
    """
    if cluster is not None and not _can_be_reached(cluster):
        raise InvalidInput(
            f"cluster = {shown(cluster)} is no Dask cluster; give one that runs, such as "
            f"distributed.LocalCluster(){_instead(cluster)}"
        )
    if not (address is None or isinstance(address, str) or _can_be_reached(address)):
        raise InvalidInput(
            f"address = {shown(address)} is no address of a scheduler, such as "
            '"tcp://10.0.0.1:8786"'
        )
    if not (cluster_class is None or isinstance(cluster_class, str) or callable(cluster_class)):
        raise InvalidInput(
            f"cluster_class = {shown(cluster_class)} makes no cluster; give a class, a function, "
            'or the name of one, such as "distributed.LocalCluster"'
        )


def check_arguments(**given: object) -> None:
    """Arguments that are handed on are named.

    Raises:
        InvalidInput: for what is no mapping.
    """
    for name, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise InvalidInput(
                f"{name} = {shown(value)} is no mapping; expected arguments by name, such as "
                '{"n_workers": 4}'
            )


def check_runner(given: object) -> None:
    """
    Raises:
        InvalidInput: unless it is a task runner, or a class of them.
    """
    of_class = isinstance(given, type) and issubclass(given, TaskRunner)
    if not (of_class or isinstance(given, TaskRunner)):
        raise InvalidInput(
            f"task_runner = {shown(given)} is no task runner; leave it out, or give a "
            "DaskTaskRunner(...)"
        )


def _can_be_reached(cluster: Any) -> bool:
    return hasattr(cluster, "scheduler_address") and not isinstance(cluster, type)


def _instead(cluster: object) -> str:
    """What may have been meant."""
    if isinstance(cluster, str):
        return f", or address={shown(cluster)}"
    return ", or cluster_class=" if isinstance(cluster, type) else ""
