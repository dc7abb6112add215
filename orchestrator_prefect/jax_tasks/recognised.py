"""Tasks whose function is a ``jax.jit`` object, recognised without a mark."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prefect import tasks
from prefect.cache_policies import DEFAULT, NO_CACHE
from prefect.results import should_persist_result
from prefect.settings.context import get_current_settings

from orchestrator_prefect.jax_tasks.function import JaxFunction

OPTIONS = ("memory", "precision", "objective", "allow", "deny", "budget_s", "check")
"""Those that are `conduct`'s."""


def recognised(task: Any) -> Any:
    """The task as it is to be submitted: a JAX task if it was marked so, or if its function is what
    ``jax.jit`` or `conduct` gives; else as it is."""
    function = task.fn
    if isinstance(function, tasks.Task):
        # `prefect.task` was given a task, which as a function would be a task run of its own.
        function = function.fn
    if is_jitted(function):
        return _unhashed(as_jax_task(task, function, {}))
    if is_conducted(function):
        made = as_jax_task(task, function.original, _goal_of(function))
        return _unhashed(_without(vars(function), made))
    if isinstance(function, JaxFunction):
        return _unhashed(as_jax_task(task, function.original, function.options))
    return task


def is_jitted(function: Any) -> bool:
    """Is it what ``jax.jit`` gives? Does not load JAX."""
    home = type(function).__module__.partition(".")[0]
    return home in ("jax", "jaxlib") and hasattr(function, "lower")


def is_conducted(function: Any) -> bool:
    """Is it what `conduct` gives? Does not load JAX."""
    return type(function).__module__ == "orchestrator_core.conductor.conducted"


def _goal_of(conducted: Any) -> dict[str, Any]:
    """Its goal, as `conduct` takes it."""
    goal = {name: getattr(conducted.goal, name) for name in OPTIONS}
    return {k: tuple(sorted(v)) if isinstance(v, frozenset) else v for k, v in goal.items()}


def _without(attributes: Iterable[str], task: Any) -> Any:
    """Less what Prefect has copied from the function, such as its locks, which cannot travel."""
    for name in attributes:
        if not name.startswith("__"):
            vars(task).pop(name, None)
    return task


def as_jax_task(task: Any, function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """A copy of the task that runs this function conducted."""
    made = copy.copy(task)
    made.fn = JaxFunction(function, options)
    return made


def _unhashed(task: Any) -> Any:
    """The task, which hashes no arguments for nothing.

    By default Prefect hashes a pickle of all arguments for each task run, be it that no result is
    stored, so that nothing can ever be found: for arrays on a device that is a copy to the host, a
    pickle of it, and a hash over that.
    """
    if task.cache_policy is DEFAULT and not _stores(task):
        task.cache_policy = NO_CACHE
    return task


def _stores(task: Any) -> bool:
    """Is the result of a run of the task to be stored, as Prefect decides it?"""
    for said in (task.persist_result, get_current_settings().tasks.default_persist_result):
        if said is not None:
            return bool(said)
    return bool(should_persist_result())


def teach_prefect() -> None:
    """Have `prefect.task` take ``jax.jit`` objects, which it refuses: it looks for their code.

    They get the key that the function inside has. If this version works in another way, all is left
    as it is.
    """
    theirs: Callable[[Any], str] | None = getattr(tasks, "_generate_task_key", None)
    if theirs is None or getattr(theirs, "looks_inside", False):
        return

    def key_of(fn: Any) -> str:
        return theirs(inspect.unwrap(fn) if is_jitted(fn) else fn)

    key_of.looks_inside = True  # type: ignore[attr-defined]
    tasks._generate_task_key = key_of
