"""`@jax_task`: a Prefect task whose function JAX computes, conducted where it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar, overload

from prefect.context import TaskRunContext
from prefect.tasks import Task

from orchestrator_prefect.jax_tasks.function import JaxFunction
from orchestrator_prefect.jax_tasks.process import has_jax
from orchestrator_prefect.jax_tasks.recognised import OPTIONS, as_jax_task, teach_prefect

teach_prefect()

P = ParamSpec("P")
R = TypeVar("R")


class JaxTask(Task[P, R]):
    """A task that may itself be given to `prefect.task`, as in ``@task(retries=2) @jax_task``."""

    @property
    def __code__(self) -> Any:
        return self.fn.__code__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As a task's call; inside the run of the task that it was given to, its function's."""
        running = TaskRunContext.get()
        if running is not None and running.task.fn is self:
            return self.fn(*args, **kwargs)
        return super().__call__(*args, **kwargs)


@overload
def jax_task(fn: Callable[P, R], /) -> JaxTask[P, R]: ...
@overload
def jax_task(
    fn: None = None,
    /,
    *,
    memory: int | float | str | None = None,
    precision: str = "real",
    objective: str = "time",
    allow: str | Iterable[str] | None = None,
    deny: str | Iterable[str] = (),
    **task_arguments: Any,
) -> Callable[[Callable[P, R]], JaxTask[P, R]]: ...
def jax_task(fn: Any = None, /, **arguments: Any) -> Any:
    """Make a Prefect task of a function that JAX can trace; where it runs, it runs conducted.

    Alone it makes a task; above or below `prefect.task` it marks one:

        @jax_task(memory="2GiB", retries=3)
        def step(weights, batch): ...

    On the worker the function is planned by the conductor and compiled once for each combination of
    shapes and types. That time is not learned as the task's own, and the task waits until its
    device has the memory. As with ``jax.jit``, the function should be pure: it is traced. One that
    cannot be traced runs as it is, and the task run's log says why. Arguments are never donated.

    Args:
        fn: a function, a ``jax.jit`` object or a task.
        memory, precision, objective, allow, deny: as for `conduct`.
        task_arguments: as for `prefect.task`, where this makes one.

    Raises:
        TypeError: for a function that is asynchronous or a generator, or an unknown argument.
        InvalidGoal: for a goal that cannot be; where JAX is not loaded yet, the task run says so.
    """
    options = {name: arguments.pop(name) for name in OPTIONS if name in arguments}
    _check(options)

    def decorate(given: Any) -> Any:
        if isinstance(given, Task):
            if arguments:
                raise TypeError(f"{sorted(arguments)} belong to the task that is there already")
            _refuse_what_cannot_be_traced(given.fn)
            return as_jax_task(given, _plain(given.fn), options)
        _refuse_what_cannot_be_traced(given)
        return JaxTask(JaxFunction(given, options), **arguments)

    return decorate if fn is None else decorate(fn)


def _plain(function: Any) -> Any:
    """Of a function that is marked already, what was marked."""
    return function.original if isinstance(function, JaxFunction) else function


def _check(options: dict[str, Any]) -> None:
    for name in ("allow", "deny"):
        if name in options and options[name] is not None and not isinstance(options[name], str):
            options[name] = tuple(options[name])
    if options and has_jax():
        from orchestrator_core.conductor.goal import goal_of

        goal_of(**options)


def _refuse_what_cannot_be_traced(function: Any) -> None:
    kinds = {
        "asynchronous": inspect.iscoroutinefunction(function),
        "a generator": inspect.isgeneratorfunction(function),
        "an asynchronous generator": inspect.isasyncgenfunction(function),
    }
    for what, is_one in kinds.items():
        if is_one:
            name = getattr(function, "__name__", function)
            raise TypeError(f"{name} is {what}, which JAX cannot trace; make it a plain task")
