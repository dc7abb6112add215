"""One call of a JAX function: prepare it, wait for memory, run it, and tell what was no work."""

from __future__ import annotations

import time
from collections.abc import Mapping
from os import environ
from typing import TYPE_CHECKING, Any

from orchestrator_core.errors import OrchestratorError
from orchestrator_prefect.jax_tasks import arrays
from orchestrator_prefect.jax_tasks.function import JaxFunction, name_of

if TYPE_CHECKING:
    from orchestrator_core.conductor.ahead import Prepared
    from orchestrator_prefect.jax_tasks.memory import Place

KILL_SWITCH = "ORCHESTRATOR_MODE"
"""Environment variable of the worker; with ``off`` functions run as they are."""

clock = time.perf_counter


def run(function: JaxFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What the function returns, computed to the end.

    It is compiled first, unless it was, and waits for the memory that it needs; the worker's
    scheduler is told how long that took and how much memory that is. Where it cannot be conducted
    it runs as it is, and the task run's log says why, once.

    Raises:
        InvalidGoal: for options that cannot be. Exception: whatever the function raises.
    """
    if environ.get(KILL_SWITCH) == "off":
        return function.original(*args, **kwargs)
    try:
        arrays.register()
        place, prepared = _prepared(function, args, kwargs)
    except OrchestratorError:
        raise
    except Exception as error:  # ours, since whatever the function raises is a reason
        _say(function, f"{type(error).__name__}: {error}")
        return function.original(*args, **kwargs)
    return _run(function, place, prepared, (args, kwargs))


def _prepared(
    function: JaxFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Place, Prepared]:
    from orchestrator_core.conductor import kept_programs
    from orchestrator_prefect.jax_tasks.memory import place_for

    kept_programs.keep()
    place = place_for((args, kwargs))
    return place, function.ahead().prepare(args, kwargs, place.chosen)


def _run(function: JaxFunction, place: Place, prepared: Prepared, call: Any) -> Any:
    from orchestrator_core.execute.dask.workers.noting import note

    ready = prepared.ready
    if ready.reason:
        _say(function, ready.reason)
    elif prepared.is_new:
        _logger().info("%s: %s", name_of(function), prepared)
    begun = clock()
    with place.admitted(call, ready.extra_bytes):
        note(setup_seconds=prepared.seconds + clock() - begun)
        if ready.is_compiled:
            note(device_bytes=ready.argument_bytes + ready.extra_bytes)
        return prepared()


def _say(function: JaxFunction, reason: str) -> None:
    """Why it is not conducted; once in a process."""
    if reason not in function.reasons:
        function.reasons.add(reason)
        _logger().warning("%s runs as it is: %s", name_of(function), reason)


def _logger() -> Any:
    from prefect.exceptions import MissingContextError
    from prefect.logging import get_logger, get_run_logger

    try:
        return get_run_logger()
    except MissingContextError:
        return get_logger(__name__)
