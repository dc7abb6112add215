"""FlowRunInfo: which flow run this is, kept for threads and moments outside its context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from logging import Logger, LoggerAdapter
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

from prefect.context import FlowRunContext
from prefect.exceptions import MissingContextError
from prefect.logging import get_logger, get_run_logger

from orchestrator_core.origin import origin_of
from orchestrator_prefect.sending.features import features_of_flow

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FlowRunInfo:
    """A flow run as seen from inside when it was made.

    Attributes:
        flow: name of the flow. origin: where its code stands.
        run_id: that of the flow run, 32 hexadecimal digits; a fresh one when it runs again.
        context: the context variables inside the flow.
        logger: the flow run's own.
        flow_run: Prefect's record of it, or None outside of a flow.
        features: how large its parameters are.
        left: how the run ended whose code was left before its end, suspended, cancelled or killed;
            empty of others. See `status`.
    """

    flow: str
    run_id: str
    context: Context
    logger: Logger | LoggerAdapter[Any]
    flow_run: Any = None
    left: str = ""
    origin: str = ""
    features: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def current() -> FlowRunInfo:
        """The flow run that calls."""
        found = FlowRunContext.get()
        flow_run = found.flow_run if found is not None else None
        flow = found.flow if found is not None else None
        return FlowRunInfo(
            flow="flow" if flow is None else flow.name,
            run_id=uuid4().hex if flow_run is None or _runs_again(flow_run) else flow_run.id.hex,
            context=copy_context(),
            logger=_logger(),
            flow_run=flow_run,
            origin="" if flow is None else origin_of(flow.fn),
            features={} if found is None else features_of_flow(flow, found.parameters or {}),
        )

    def inside(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns inside the flow's context; callable from any thread."""
        return self.context.copy().run(function, *args, **kwargs)

    @property
    def runs_again(self) -> bool:
        """Has the body of this flow run begun before?"""
        return _runs_again(self.flow_run)

    @property
    def status(self) -> str:
        """``ok``, ``failed`` or ``cancelled``, by the state that the flow run has now."""
        if self.left:
            return self.left
        state = getattr(self.flow_run, "state", None)
        if state is None or state.is_completed():
            return "ok"
        # A flow that is tried again is scheduled, or runs already: this try failed.
        failed = (
            state.is_failed() or state.is_crashed() or state.is_scheduled() or state.is_running()
        )
        return "failed" if failed else "cancelled"


def _runs_again(flow_run: Any) -> bool:
    """A run that was suspended keeps the number of its tries, and the keys of its pauses."""
    if flow_run is None:
        return False
    return (flow_run.run_count or 0) > 1 or bool(flow_run.empirical_policy.pause_keys)


def _logger() -> Logger | LoggerAdapter[Any]:
    try:
        return get_run_logger()
    except MissingContextError:
        return get_logger(__name__)
