"""`@optimized_flow`: `prefect.flow` whose tasks run on Dask where and when a plan says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, overload

from prefect import flow
from prefect.flows import Flow
from prefect.logging import get_logger
from prefect.task_runners import TaskRunner
from prefect_dask import DaskTaskRunner

from orchestrator_prefect.task_runner import Mode, OptimizedTaskRunner

P = ParamSpec("P")
R = TypeVar("R")


@overload
def optimized_flow(fn: Callable[P, R], /) -> Flow[P, R]: ...
@overload
def optimized_flow(
    fn: None = None,
    /,
    *,
    store: str | None = None,
    cluster: Any = None,
    address: str | None = None,
    cluster_class: str | Callable[[], Any] | None = None,
    cluster_kwargs: Mapping[str, Any] | None = None,
    mode: Mode = "auto",
    report: bool = True,
    **flow_arguments: Any,
) -> Callable[[Callable[P, R]], Flow[P, R]]: ...
def optimized_flow(
    fn: Callable[P, R] | None = None,
    /,
    *,
    store: str | None = None,
    cluster: Any = None,
    address: str | None = None,
    cluster_class: str | Callable[[], Any] | None = None,
    cluster_kwargs: Mapping[str, Any] | None = None,
    mode: Mode = "auto",
    report: bool = True,
    **flow_arguments: Any,
) -> Flow[P, R] | Callable[[Callable[P, R]], Flow[P, R]]:
    """Make a Prefect flow of a function, and plan where and when its tasks run.

    Takes every argument of `prefect.flow`, with the same meaning, so that it can replace `flow` and
    be replaced by it. The first run is watched, the next ones are planned from what was learned.

    Args:
        fn: the function, where the decorator is used without arguments.
        store: URL or path of the database of schedules and runs; None for the default one.
        cluster, address, cluster_class, cluster_kwargs: the Dask cluster, as for `DaskTaskRunner`;
            without any of them, one on this machine for the length of each run.
        mode: ``auto`` follows a plan where it pays; ``director`` and ``restrict`` say by which
            means; ``observe`` only records; ``off`` is plain prefect-dask.
        report: add the plan and its outcome to the flow run as artifacts.
        flow_arguments: as for `prefect.flow`. A `DaskTaskRunner` as `task_runner` gives the
            cluster; with a runner of another kind the flow runs there, without a plan.

    Raises:
        TypeError: if both `task_runner` and a cluster are given, or an argument is unknown.
    """
    given = flow_arguments.pop("task_runner", None)
    where = {
        "cluster": cluster,
        "address": address,
        "cluster_class": cluster_class,
        "cluster_kwargs": dict(cluster_kwargs) if cluster_kwargs else None,
    }
    if given is None:
        runner: TaskRunner[Any] = OptimizedTaskRunner(
            **where, store=store, mode=mode, report=report
        )
    else:
        _refuse_both(where)
        runner = _planned(given, store=store, mode=mode, report=report)

    def decorate(function: Callable[P, R]) -> Flow[P, R]:
        made: Flow[P, R] = flow(task_runner=runner, **flow_arguments)(function)
        return made

    return decorate if fn is None else decorate(fn)


def _planned(given: TaskRunner[Any] | type[TaskRunner[Any]], **options: Any) -> TaskRunner[Any]:
    runner = given() if isinstance(given, type) else given
    if isinstance(runner, OptimizedTaskRunner):
        return runner
    if isinstance(runner, DaskTaskRunner):
        return OptimizedTaskRunner.like(runner, **options)
    get_logger(__name__).warning(
        "The flow's task runner is a %s; only tasks on Dask can be planned, so this flow runs "
        "without a plan. Leave task_runner out to plan it.",
        type(runner).__name__,
    )
    return runner


def _refuse_both(where: Mapping[str, Any]) -> None:
    doubled = [f"`{name}`" for name, value in where.items() if value is not None]
    if doubled:
        raise TypeError(
            f"Cannot specify both `task_runner` and {', '.join(doubled)}: give the cluster to the "
            "task runner, or leave the task runner out."
        )
