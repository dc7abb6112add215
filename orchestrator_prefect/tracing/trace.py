"""The trace itself: a flow's body runs with stand-ins, under watch."""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from inspect import isasyncgen, iscoroutine, isgenerator, signature
from typing import Any

from prefect.context import FlowRunContext
from prefect.flows import Flow
from prefect.utilities.callables import get_call_parameters, parameters_to_args_kwargs

from orchestrator_prefect.flow_object import options_of
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.settings.estimates import Estimate
from orchestrator_prefect.settings.flow_settings import FlowSettings
from orchestrator_prefect.settings.options import Options
from orchestrator_prefect.tracing import hooks as hooks  # what followed code asks
from orchestrator_prefect.tracing.calls import allowed
from orchestrator_prefect.tracing.effects import heed_effects
from orchestrator_prefect.tracing.inline import not_run
from orchestrator_prefect.tracing.runner import TracingRunner
from orchestrator_prefect.tracing.watch import Refused, Watch, is_users, line, watch

SECONDS, TASKS = 10.0, 20_000
"""What a body may take, and submit."""

SAID = 3
"""Tasks and flows that are named."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a flow would submit.

    Attributes:
        flow: its name. submissions: in order.
        inline: how often it calls which tasks and flows itself.
        estimates: what its decorator says of tasks, by name.
    """

    flow: str
    submissions: tuple[Submission, ...]
    inline: Mapping[str, int]
    estimates: Mapping[str, Estimate]


def trace(
    flow: Flow[..., Any],
    parameters: Mapping[str, Any],
    *,
    seconds: float = SECONDS,
    tasks: int = TASKS,
) -> Trace:
    """Follow the flow's body with these parameters, and its defaults.

    Raises:
        Refused: if it cannot be followed; the text begins with the line.
    """
    settings = _settings(flow)
    over = Watch(seconds, tasks)
    beliefs = {name: each.hint for name, each in settings.estimates.items()}
    runner = TracingRunner(over, beliefs, features=settings.argument_sizes)
    heed_effects()
    with runner, not_run(runner), _no_logs(), asyncio.Runner() as loop:
        # What it is made of is no effect of the flow's.
        loop.get_loop()
        with watch(over):
            given = _checked(flow, parameters)
            runner.flow_given(flow, given)
            with _in_run(flow, runner, given):
                _follow(flow, given, over, loop)
    if not runner.submissions:
        raise Refused(_nothing(flow.name, runner.inline))
    return Trace(flow.name, tuple(runner.submissions), dict(runner.inline), settings.estimates)


def _nothing(flow: str, inline: Mapping[str, int]) -> str:
    """For people: why there is nothing to plan, and what to ask instead."""
    found = f"flow {flow!r} submits no task, so there is nothing to plan"
    if not inline:
        return found
    names = sorted(inline)
    more = f" and {len(names) - SAID} more" if len(names) > SAID else ""
    calls = f"it calls {', '.join(names[:SAID])}{more} itself"
    return f"{found}: {calls}; plan a flow that it calls by that one's name, and submit tasks"


def _settings(flow: Flow[..., Any]) -> FlowSettings:
    """As a run has them; no server is asked."""
    runner = getattr(flow.task_runner, "options", Options())
    return FlowSettings.of(runner, options_of(flow), None)


def _in_run(flow: Flow[..., Any], runner: TracingRunner, parameters: dict[str, Any]) -> Any:
    """What Prefect knows of a run while its flow's body runs; of this one, next to nothing."""
    return FlowRunContext.model_construct(
        flow=flow, task_runner=runner, parameters=parameters, client=None, result_store=None
    )


def _checked(flow: Flow[..., Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as the flow's body gets them."""
    try:
        given = get_call_parameters(flow.fn, (), dict(parameters))
        return flow.validate_parameters(given) if flow.should_validate_parameters else given
    except Exception as error:
        why = _unbound(flow.fn, parameters) or str(error).rstrip(".")
        raise Refused(
            f"parameters of flow {flow.name!r}: {why}; give them as --param NAME=VALUE"
        ) from None


def _unbound(function: Callable[..., Any], parameters: Mapping[str, Any]) -> str:
    """Which are missing, or too many, in fewer words than Prefect's; empty if they fit."""
    try:
        signature(function).bind(**parameters)
    except TypeError as error:
        return str(error)
    return ""


def _follow(flow: Flow[..., Any], given: dict[str, Any], over: Watch, loop: asyncio.Runner) -> None:
    try:
        args, kwargs = parameters_to_args_kwargs(flow.fn, given)
        _exhaust(allowed(flow.fn)(*args, **kwargs), loop)
    except (Exception, SystemExit) as error:
        if over.refused is None:
            raise Refused(_raised(error)) from error
    if over.refused is not None:
        # Whoever catches all has caught this, too.
        raise over.refused


def _exhaust(answer: Any, loop: asyncio.Runner) -> None:
    """Run to the end what a flow that waits or yields gave."""
    if iscoroutine(answer):
        loop.run(answer, context=copy_context())
    elif isasyncgen(answer):
        loop.run(_all(answer), context=copy_context())
    elif isgenerator(answer):
        for _ in answer:
            pass


async def _all(answer: Any) -> None:
    async for _ in answer:
        pass


def _raised(error: BaseException) -> str:
    places = [
        (frame.f_code.co_filename, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
        if is_users(frame.f_code)
    ]
    where = line(*places[-1]) if places else ""
    return f"{where}the flow's code raised {type(error).__name__}: {error}".rstrip(": ")


@contextmanager
def _no_logs() -> Iterator[None]:
    """Within it, nothing is logged, nor made into text for that."""
    before = logging.root.manager.disable
    logging.disable(sys.maxsize)
    try:
        yield
    finally:
        logging.disable(before)
