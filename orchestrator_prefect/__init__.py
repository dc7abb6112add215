"""Prefect flows on Dask, planned: `from orchestrator_prefect import optimized_flow`.

`@optimized_flow` stands in for `prefect.flow`, `OptimizedTaskRunner` for `DaskTaskRunner`; tasks
whose function is JAX's are marked `@jax_task`. Each is loaded when it is first asked for, because
Prefect takes seconds to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator_prefect.decorator import optimized_flow
    from orchestrator_prefect.jax_tasks.task import jax_task
    from orchestrator_prefect.task_runner import OptimizedTaskRunner

__all__ = ["OptimizedTaskRunner", "jax_task", "optimized_flow"]

_HOME = {
    "OptimizedTaskRunner": "task_runner",
    "jax_task": "jax_tasks.task",
    "optimized_flow": "decorator",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
