"""OptimizedTaskRunner: a `DaskTaskRunner` that plans what a flow submits.

The engine calls `duplicate()` for each flow run; the flow, with the original runner in it, travels
to the workers with every task. So a runner keeps its settings apart from what belongs to one run (a
`FlowSession`), and it travels as a plain `DaskTaskRunner`: workers do not need this package. Only
to a process that runs the flow it goes as it is (`elsewhere`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from operator import methodcaller
from threading import Lock
from typing import Any

from prefect.client.schemas.objects import RunInput
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect_dask import DaskTaskRunner
from prefect_dask.task_runners import PrefectDaskFuture

from orchestrator_core.execute.advice import Advisor
from orchestrator_core.execute.dask.graphs.hints import Hint
from orchestrator_prefect.advisor import AdvisorOnCall
from orchestrator_prefect.flow_object import options_of
from orchestrator_prefect.inputs import Inputs, looked_into
from orchestrator_prefect.jax_tasks.recognised import recognised, teach_prefect
from orchestrator_prefect.loading import begin_loading
from orchestrator_prefect.runs.flow_run import FlowRunInfo
from orchestrator_prefect.runs.outermost import outermost
from orchestrator_prefect.sending.context import SerializedOnce
from orchestrator_prefect.sending.futures import PlannedFuture
from orchestrator_prefect.sending.link import DaskLink
from orchestrator_prefect.sending.temporary_server import temporary_server
from orchestrator_prefect.sending.worker_side import warm_up
from orchestrator_prefect.session import FlowSession
from orchestrator_prefect.settings.aims import AimingAdvisor, Aims
from orchestrator_prefect.settings.demands import Demands
from orchestrator_prefect.settings.flow_advisor import flow_advisor
from orchestrator_prefect.settings.flow_settings import FlowSettings, switched_off
from orchestrator_prefect.settings.options import Mode, Options
from orchestrator_prefect.settings.supply import Supply
from orchestrator_prefect.settings.variables import Variables
from orchestrator_prefect.settings.whereabouts import check_arguments, check_cluster

teach_prefect()


class OptimizedTaskRunner(DaskTaskRunner):
    """Runs tasks on Dask, where and when a plan says.

    Submissions are held for a moment, so that many can be planned together: until a result is
    asked for, until 50 ms of silence, for 1 s at most. Whatever fails in planning costs the plan,
    never the flow.

    Args:
        cluster, address, cluster_class, cluster_kwargs, adapt_kwargs, client_kwargs,
            performance_report_path: as for `DaskTaskRunner`.
        store, mode, objective, deadline, max_price, report, estimates: as for `optimized_flow`;
            what is not given here, the flow's decorator says, or one of the places that
            `orchestrator_core.settings` names.
        advisor: who plans and remembers, instead of an `Orchestrator` with that store.

    Raises:
        InvalidInput: naming the option that makes no sense, and what is possible.
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
        store: str | os.PathLike[str] | None = None,
        mode: Mode | None = None,
        objective: str | tuple[str, ...] | None = None,
        deadline: float | str | timedelta | None = None,
        max_price: float | None = None,
        report: bool | None = None,
        estimates: Mapping[str, Any] | None = None,
        advisor: Advisor | None = None,
    ) -> None:
        check_cluster(cluster, address, cluster_class)
        check_arguments(
            cluster_kwargs=cluster_kwargs, adapt_kwargs=adapt_kwargs, client_kwargs=client_kwargs
        )
        super().__init__(
            cluster=cluster,
            address=address,
            cluster_class=cluster_class,
            cluster_kwargs=cluster_kwargs,
            adapt_kwargs=adapt_kwargs,
            client_kwargs=client_kwargs,
            performance_report_path=performance_report_path,
        )
        self.options = Options(store, mode, objective, deadline, max_price, report, estimates)
        self.advisor = advisor
        # Upstream's own attribute also takes a cluster that was made for one run.
        self._given_cluster = cluster
        self._settings = SerializedOnce()
        self._variables: Variables | None = None
        self._demands: Demands | None = None
        self._session: FlowSession | None = None
        self._opening = Lock()
        self._ends = ExitStack()

    @classmethod
    def like(cls, runner: DaskTaskRunner, **options: Any) -> OptimizedTaskRunner:
        """A planning runner on the cluster of a plain one; `options` as for the class."""
        return cls(**_dask_settings(runner, runner._cluster), **options)

    def duplicate(self) -> OptimizedTaskRunner:
        """A new runner with the same settings, `cluster` included."""
        where = _dask_settings(self, self._given_cluster)
        return type(self)(**where, **vars(self.options), advisor=self.advisor)

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
        session, demands = self._opened()
        with demands.of(task) as hint, self._settings.reused():
            if session is None:
                return super().submit(task, parameters, wait_for, dependencies)  # type: ignore[arg-type]
            return self._submit(session, hint, task, parameters, wait_for, dependencies)

    def _submit(
        self,
        session: FlowSession,
        hint: Hint,
        task: Any,
        parameters: dict[str, Any],
        wait_for: Iterable[PrefectFuture[Any]] | None,
        dependencies: dict[str, set[RunInput]] | None,
    ) -> PrefectDaskFuture[Any]:
        task = recognised(task)
        inputs, given = Inputs(session), parameters
        parameters = inputs.for_dask(given)
        waited = inputs.for_dask(looked_into(wait_for)) if wait_for else None
        with session.submitting(task, inputs.after, inputs.waits_for, hint, given) as submission:
            session.stored.look(submission, task, given)
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

    def __enter__(self) -> OptimizedTaskRunner:
        # The answer is there when the client is.
        is_off = self.options.mode == "off" or switched_off()
        self._variables = None if is_off else Variables()
        if not is_off:
            begin_loading()
        super().__enter__()  # type: ignore[no-untyped-call]
        self._outermost = self._ends.enter_context(outermost())
        return self

    def __exit__(self, *exc_info: Any) -> None:
        session, demands = self._session, self._demands
        self._session = self._demands = None
        with self._ends:
            try:
                if session is not None:
                    # A run that was left before its end may not have come to what is estimated.
                    for said in demands.unmet() if demands and exc_info[0] is None else ():
                        session.info.logger.info(said)
                    session.close(left=_left(exc_info[0]))
                    self._outermost.leave(session.publisher)
            finally:
                super().__exit__(*exc_info)

    def _opened(self) -> tuple[FlowSession | None, Demands]:
        """What belongs to the run; no session where nothing is planned nor recorded."""
        with self._opening:
            if self._demands is None:
                self._open(self._settings_of_run())
            assert self._demands is not None
            return self._session, self._demands

    def _open(self, settings: FlowSettings) -> None:
        info = FlowRunInfo.current()
        plans = settings.mode not in ("observe", "off")
        aims = Aims(settings.objective, settings.deadline, info.logger)
        make = self._making(settings, aims)
        # Planners are loaded while the client connects, or the cluster starts.
        advisor = None if settings.mode == "off" else self._on_call(make, warm=plans)
        client = self.client
        if advisor is not None:
            self._get_ready(client)
            self._session = FlowSession(
                client,
                info,
                advisor=advisor,
                plans=plans,
                connect=partial(DaskLink, client, mode=settings.mode),
                report=settings.report,
                argument_sizes=settings.argument_sizes,
            )
        self._demands = Demands(
            Supply(client, info.logger, waits=settings.wait_for_workers), settings.estimates, aims
        )

    def _get_ready(self, client: Any) -> None:
        """What workers need for their first task; nothing is waited for, and nothing fails."""
        self._settings.server = temporary_server(client)
        settings = self._settings.sent()
        if settings and self._given_cluster is None and self.address is None:
            warm_up(client, settings)

    def _settings_of_run(self) -> FlowSettings:
        context = FlowRunContext.get()
        decorator = options_of(context and context.flow)
        return FlowSettings.of(self.options, decorator, self._variables)

    def _making(self, settings: FlowSettings, aims: Aims) -> Callable[[], Advisor]:
        given = self.advisor
        if given is not None:
            return lambda: AimingAdvisor(given, aims)
        return lambda: AimingAdvisor(flow_advisor(settings), aims)

    def _on_call(self, make: Callable[[], Advisor], *, warm: bool) -> AdvisorOnCall:
        if not warm or self.advisor is not None:
            return AdvisorOnCall(make, owned=self.advisor is None)
        return AdvisorOnCall(make, warm_up=methodcaller("warm_up"), owned=True)

    def __eq__(self, other: object) -> bool:
        """Two runners are equal when their settings are."""
        if not isinstance(other, OptimizedTaskRunner):
            return NotImplemented
        return self._all_settings() == other._all_settings()

    __hash__ = None  # type: ignore[assignment]

    def _all_settings(self) -> tuple[Any, ...]:
        where = _dask_settings(self, self._given_cluster)
        return (where, self.options, self.advisor)

    def __reduce__(self) -> tuple[Any, ...]:
        return (partial(DaskTaskRunner, **self._whereabouts()), ())

    def elsewhere(self) -> Callable[[], OptimizedTaskRunner]:
        """What makes such a runner in another process, but for an `advisor` of this one."""
        return partial(OptimizedTaskRunner, **self._whereabouts(), **vars(self.options))

    def _whereabouts(self) -> dict[str, Any]:
        """The cluster, by its address if it is an object of this process."""
        if self._given_cluster is None:
            return _dask_settings(self, None)
        address = self._given_cluster.scheduler_address
        return {"address": address, "client_kwargs": self.client_kwargs}


def _left(kind: type[BaseException] | None) -> str:
    """How a run ended whose code was left by this: nobody has cancelled what exits by itself."""
    if kind is None:
        return ""
    return "failed" if issubclass(kind, SystemExit) else "cancelled"


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
