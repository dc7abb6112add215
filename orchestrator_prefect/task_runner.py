"""OptimizedTaskRunner: a `DaskTaskRunner` that plans what a flow submits.

The engine calls `duplicate()` for each flow run; the flow, with the original runner in it, travels
to the workers with every task. So a runner keeps its settings apart from what belongs to one run (a
`FlowSession`), and it travels as a plain `DaskTaskRunner`: workers do not need this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import methodcaller
from os import environ
from threading import Lock
from typing import Any, Literal, get_args

from prefect.client.schemas.objects import RunInput, State
from prefect.futures import PrefectFuture
from prefect.utilities.collections import visit_collection
from prefect_dask import DaskTaskRunner
from prefect_dask.task_runners import PrefectDaskFuture

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.advice import Advisor
from orchestrator_prefect.advisor import AdvisorOnCall
from orchestrator_prefect.context import SerializedOnce
from orchestrator_prefect.flow_run import FlowRunInfo
from orchestrator_prefect.futures import PlannedFuture
from orchestrator_prefect.link import DaskLink, Link
from orchestrator_prefect.session import FlowSession

Mode = Literal["auto", "director", "restrict", "observe", "off"]

KILL_SWITCH = "ORCHESTRATOR_MODE"
"""Environment variable; if it is ``off`` or ``observe``, no argument can say otherwise."""


class OptimizedTaskRunner(DaskTaskRunner):
    """Runs tasks on Dask, where and when a plan says.

    Submissions are held for a moment, so that many can be planned together: until a result is
    asked for, until 50 ms of silence, for 1 s at most. Whatever fails in planning costs the plan,
    never the flow.

    Args:
        cluster, address, cluster_class, cluster_kwargs, adapt_kwargs, client_kwargs,
            performance_report_path: as for `DaskTaskRunner`.
        store: URL or path of the database of schedules and runs; None for the default one.
        mode: ``auto``, ``director``, ``restrict``, ``observe`` (record only) or ``off``.
        report: add the plan and its outcome to the flow run as artifacts.
        advisor: who plans and remembers, instead of an `Orchestrator` with that store.

    Raises:
        InvalidInput: if there is no such mode.
        ValueError: for contradictory arguments, as `DaskTaskRunner`.
    """

    def __init__(
        self,
        cluster: Any = None,
        address: str | None = None,
        cluster_class: str | Callable[[], Any] | None = None,
        cluster_kwargs: dict[str, Any] | None = None,
        adapt_kwargs: dict[str, Any] | None = None,
        client_kwargs: dict[str, Any] | None = None,
        performance_report_path: str | None = None,
        *,
        store: str | None = None,
        mode: Mode = "auto",
        report: bool = True,
        advisor: Advisor | None = None,
    ) -> None:
        super().__init__(
            cluster=cluster,
            address=address,
            cluster_class=cluster_class,
            cluster_kwargs=cluster_kwargs,
            adapt_kwargs=adapt_kwargs,
            client_kwargs=client_kwargs,
            performance_report_path=performance_report_path,
        )
        if mode not in get_args(Mode):
            raise InvalidInput(f"mode = {mode!r} is no mode; choose one of {get_args(Mode)}")
        self.store, self.mode, self.report, self.advisor = store, mode, report, advisor
        # Upstream's own attribute also takes a cluster that was made for one run.
        self._given_cluster = cluster
        self._connect: Callable[[Any], Link] = partial(DaskLink, mode=mode)
        self._settings = SerializedOnce()
        self._session: FlowSession | None = None
        self._opening = Lock()

    @classmethod
    def like(cls, runner: DaskTaskRunner, **options: Any) -> OptimizedTaskRunner:
        """A planning runner on the cluster of a plain one; `options`: `store`, `mode`, `report`."""
        return cls(**_dask_settings(runner, runner._cluster), **options)

    def duplicate(self) -> OptimizedTaskRunner:
        """A new runner with the same settings, `cluster` included."""
        copy = type(self)(
            **_dask_settings(self, self._given_cluster),
            store=self.store,
            mode=self.mode,
            report=self.report,
            advisor=self.advisor,
        )
        copy._connect = self._connect
        return copy

    def submit(  # type: ignore[override]
        self,
        task: Any,
        parameters: dict[str, Any],
        wait_for: Iterable[PrefectFuture[Any]] | None = None,
        dependencies: dict[str, set[RunInput]] | None = None,
    ) -> PrefectDaskFuture[Any]:
        """Submit a task; its message to Dask may wait until its epoch is planned."""
        if not self._started:
            raise RuntimeError("The task runner must be started before submitting work.")
        session = self._opened()
        if session is None:
            with self._settings.reused():
                return super().submit(task, parameters, wait_for, dependencies)  # type: ignore[arg-type]
        inputs = _Inputs(session)
        parameters = inputs.for_dask(parameters)
        waited = inputs.for_dask(list(wait_for)) if wait_for else None
        with (
            session.submitting(task, inputs.after, inputs.waits_for) as submission,
            self._settings.reused(),
        ):
            client: Any = self.client
            future = client.submit(
                task,
                parameters=parameters,
                wait_for=waited,
                dependencies=dependencies,
                return_type="state",
                key=submission.key,
            )
        session.started(submission, future.task_run_id)
        return PlannedFuture(future.task_run_id, future, submission, session)

    def __exit__(self, *exc_info: Any) -> None:
        session, self._session = self._session, None
        try:
            if session is not None:
                session.close()
        finally:
            super().__exit__(*exc_info)

    def _opened(self) -> FlowSession | None:
        mode = environ.get(KILL_SWITCH) or self.mode
        if mode == "off":
            return None
        with self._opening:
            if self._session is None:
                # Planners are loaded while the client connects, or the cluster starts.
                advisor = self._advisor_on_call(warm=mode != "observe")
                client = self.client
                self._session = FlowSession(
                    client,
                    FlowRunInfo.current(),
                    advisor=advisor,
                    plans=mode != "observe",
                    connect=partial(self._connect, client),
                    report=self.report,
                )
            return self._session

    def _advisor_on_call(self, *, warm: bool) -> AdvisorOnCall:
        given = self.advisor
        if given is not None:
            return AdvisorOnCall(lambda: given, owned=False)
        make = partial(_orchestrator, self.store)
        if not warm:
            return AdvisorOnCall(make, owned=True)
        return AdvisorOnCall(make, warm_up=methodcaller("warm_up"), owned=True)

    def __eq__(self, other: object) -> bool:
        """Two runners are equal when their settings are."""
        if not isinstance(other, OptimizedTaskRunner):
            return NotImplemented
        return self._all_settings() == other._all_settings()

    __hash__ = None  # type: ignore[assignment]

    def _all_settings(self) -> tuple[Any, ...]:
        where = _dask_settings(self, self._given_cluster)
        return (where, self.store, self.mode, self.report, self.advisor)

    def __reduce__(self) -> tuple[Any, ...]:
        where = _dask_settings(self, None)
        if self._given_cluster is not None:
            where = {
                "address": self._given_cluster.scheduler_address,
                "client_kwargs": self.client_kwargs,
            }
        return (partial(DaskTaskRunner, **where), ())


def _orchestrator(store: str | None) -> Advisor:
    from orchestrator_core.orchestrate import Orchestrator

    return Orchestrator(store)


class _Inputs:
    """Finds in arguments the tasks that they come from, and makes Dask's futures of Prefect's."""

    def __init__(self, session: FlowSession) -> None:
        self._session = session
        self.after: list[str] = []
        self.waits_for: list[str] = []

    def for_dask(self, expression: Any) -> Any:
        return visit_collection(expression, visit_fn=self._visit, return_data=True)

    def _visit(self, value: Any) -> Any:
        if isinstance(value, PlannedFuture) and value.belongs_to(self._session):
            self.after.append(value.submission.name)
            # Not `wrapped_future`, which would end the epoch.
            return value._wrapped_future
        if isinstance(value, PrefectDaskFuture):
            return value.wrapped_future
        if isinstance(value, State):
            name = self._session.name_of(value.state_details.task_run_id)
            if name is not None:
                self.waits_for.append(name)
        return value


def _dask_settings(runner: DaskTaskRunner, cluster: Any) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "address": runner.address,
        "cluster_class": runner.cluster_class,
        "cluster_kwargs": runner.cluster_kwargs,
        "adapt_kwargs": runner.adapt_kwargs,
        "client_kwargs": runner.client_kwargs,
        "performance_report_path": runner.performance_report_path,
    }
