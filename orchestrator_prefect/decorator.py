"""`@optimized_flow`: `prefect.flow` whose tasks run on Dask where and when a plan says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from multiprocessing import parent_process
from typing import Any, ParamSpec, TypeVar, overload

from prefect import flow
from prefect.flows import Flow
from prefect.logging import get_logger
from prefect.task_runners import TaskRunner
from prefect_dask import DaskTaskRunner

from orchestrator_prefect.flow_object import OptimizedFlow
from orchestrator_prefect.settings.misuse import refuse_no_function, refuse_unknown
from orchestrator_prefect.settings.options import Mode, Options
from orchestrator_prefect.settings.whereabouts import check_arguments, check_runner
from orchestrator_prefect.task_runner import OptimizedTaskRunner

P = ParamSpec("P")
R = TypeVar("R")


@overload
def optimized_flow(fn: Callable[P, R], /) -> Flow[P, R]: ...
@overload
def optimized_flow(
    fn: None = None,
    /,
    *,
    store: str | os.PathLike[str] | None = None,
    cluster: Any = None,
    address: str | None = None,
    cluster_class: str | Callable[[], Any] | None = None,
    cluster_kwargs: Mapping[str, Any] | None = None,
    mode: Mode | None = None,
    objective: str | tuple[str, ...] | None = None,
    deadline: float | str | timedelta | None = None,
    max_price: float | None = None,
    estimates: Mapping[str, Any] | None = None,
    report: bool | None = None,
    **flow_arguments: Any,
) -> Callable[[Callable[P, R]], Flow[P, R]]: ...
def optimized_flow(
    fn: Callable[P, R] | None = None,
    /,
    *,
    store: str | os.PathLike[str] | None = None,
    cluster: Any = None,
    address: str | None = None,
    cluster_class: str | Callable[[], Any] | None = None,
    cluster_kwargs: Mapping[str, Any] | None = None,
    mode: Mode | None = None,
    objective: str | tuple[str, ...] | None = None,
    deadline: float | str | timedelta | None = None,
    max_price: float | None = None,
    estimates: Mapping[str, Any] | None = None,
    report: bool | None = None,
    **flow_arguments: Any,
) -> Flow[P, R] | Callable[[Callable[P, R]], Flow[P, R]]:
    """Make a Prefect flow of a function, and plan where and when its tasks run.

    Takes every argument of `prefect.flow`, with the same meaning, so that it can replace `flow` and
    be replaced by it. The first run is watched, the next ones are planned from what was learned.

    Args:
        fn: the function, where the decorator is used without arguments.
        store: URL or path of the database of schedules and runs.
        cluster, address, cluster_class, cluster_kwargs: the Dask cluster, as for `DaskTaskRunner`;
            without any of them, one on this machine for the length of each run.
        mode: ``auto`` follows a plan where it pays; ``director`` and ``restrict`` say by which
            means; ``observe`` only records; ``off`` is plain prefect-dask. Default: ``auto``.
        objective: what plans minimise, such as ``"price,makespan"``; default: ``makespan``.
        deadline: seconds from the first submission, or text such as ``"10min"``, by which the flow
            has to end; where that cannot be, it ends as little later as possible.
        max_price: what a run may cost by the workers' prices; where that cannot be, the least.
        estimates: what is believed of tasks that never ran, by the task's name: seconds, text such
            as ``"2min ± 20s"``, or a mapping of `seconds`, `spread`, `memory`, `output_bytes`.
        report: add the plan and its outcome to the flow run as artifacts? Default: yes.
        flow_arguments: as for `prefect.flow`. A `DaskTaskRunner` as `task_runner` gives the
            cluster; with a runner of another kind the flow runs there, without a plan. What an
            `OptimizedTaskRunner` itself was told comes before what is said here.

    What is None here, is looked for elsewhere: see `orchestrator_core.settings`.

    Raises:
        InvalidInput: for an argument that makes no sense, naming what is possible.
        TypeError: if both `task_runner` and a cluster are given, an argument is unknown, or what is
            decorated is no function.
    """
    given = flow_arguments.pop("task_runner", None)
    refuse_unknown(flow_arguments, optimized_flow)
    check_arguments(cluster_kwargs=cluster_kwargs)
    where = {
        "cluster": cluster,
        "address": address,
        "cluster_class": cluster_class,
        "cluster_kwargs": dict(cluster_kwargs) if cluster_kwargs else None,
    }
    options = Options(store, mode, objective, deadline, max_price, report, estimates)
    if given is None:
        runner: TaskRunner[Any] = OptimizedTaskRunner(**where, **vars(options))
    else:
        _refuse_both(where)
        runner = _planned(given, options)

    def decorate(function: Callable[P, R]) -> Flow[P, R]:
        refuse_no_function(function)
        made: Flow[P, R] = flow(task_runner=runner, **flow_arguments)(function)
        _warn_of(made)
        return DecoratedFlow.of(made, options)

    return decorate if fn is None else decorate(fn)


class DecoratedFlow(OptimizedFlow[P, R]):
    """A flow whose task runner is taken as its decorator takes one, when it is given another."""

    __slots__ = ()

    def with_options(self, **changes: Any) -> OptimizedFlow[P, R]:
        """As `OptimizedFlow.with_options`; a `DaskTaskRunner` gives the cluster.

        Raises:
            InvalidInput: for what is no task runner.
        """
        given = changes.get("task_runner")
        if given is None:
            return super().with_options(**changes)
        made = super().with_options(**{**changes, "task_runner": _planned(given, self.options)})
        _warn_of(made)
        return made


def _planned(given: TaskRunner[Any] | type[TaskRunner[Any]], options: Options) -> TaskRunner[Any]:
    check_runner(given)
    runner = given() if isinstance(given, type) else given
    if isinstance(runner, OptimizedTaskRunner):
        return runner
    if isinstance(runner, DaskTaskRunner):
        return OptimizedTaskRunner.like(runner, **vars(options))
    return runner


def _warn_of(made: Flow[..., Any]) -> None:
    """Say that nothing is planned; not in workers, which import what their parent has imported."""
    if isinstance(made.task_runner, DaskTaskRunner) or parent_process() is not None:
        return
    get_logger(__name__).warning(
        "The task runner of flow %r is a %s; only tasks on Dask can be planned, so it runs without "
        "a plan. Leave task_runner out to plan it.",
        made.name,
        type(made.task_runner).__name__,
    )


def _refuse_both(where: Mapping[str, Any]) -> None:
    doubled = [f"`{name}`" for name, value in where.items() if value is not None]
    if doubled:
        raise TypeError(
            f"Cannot specify both `task_runner` and {', '.join(doubled)}: give the cluster to the "
            "task runner, or leave the task runner out."
        )
