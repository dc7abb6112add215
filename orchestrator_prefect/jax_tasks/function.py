"""JaxFunction: the function of a JAX task, which runs conducted wherever it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator_core.conductor.ahead import Ahead
    from orchestrator_core.conductor.explaining.explanation import Explanation


class JaxFunction:
    """A function and what it is conducted for; called as the function itself.

    It travels with its function pickled by itself, so that a process that gets the same function
    again (each task brings it) knows what it has compiled; see `process`.

    Attributes:
        original: as the author wrote it. options: as `conduct` takes them.
        reasons: why it was not conducted, as far as that was said.
    """

    # `functools.update_wrapper` copies __dict__ to whatever wraps this, so nothing else is in it.
    __slots__ = ("__dict__", "__weakref__", "_ahead", "_lock", "options", "original", "reasons")

    def __init__(self, original: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self.original, self.options = original, dict(options)
        self.reasons: set[str] = set()
        self._ahead: Ahead | None = None
        self._lock = Lock()
        functools.update_wrapper(self, original)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from orchestrator_prefect.jax_tasks.running import run

        return run(self, args, kwargs)

    @property
    def __code__(self) -> Any:
        """Of the function itself; Prefect tells tasks apart by it."""
        return inspect.unwrap(self.original).__code__

    def ahead(self) -> Ahead:
        """The function with all that this process has compiled of it.

        Raises:
            ImportError: without JAX. InvalidGoal: for options that cannot be.
        """
        with self._lock:
            if self._ahead is None:
                from orchestrator_core.conductor.ahead import Ahead
                from orchestrator_core.conductor.goal import goal_of

                self._ahead = Ahead(self.original, goal_of(**self.options))
            return self._ahead

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What the conductor finds in it for such arguments, and does about it. Runs nothing."""
        return self.ahead().conducted.explain(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle  # type: ignore[import-untyped]

        from orchestrator_prefect.jax_tasks.process import function_of

        return function_of, (cloudpickle.dumps(self.original), self.options, name_of(self))

    def __repr__(self) -> str:
        return f"<JAX function {name_of(self)}>"


def name_of(function: Any) -> str:
    """As its author calls it."""
    return str(getattr(function, "__name__", None) or type(function).__name__)
