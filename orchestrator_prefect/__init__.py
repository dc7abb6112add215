"""Prefect flows on Dask, planned: `from orchestrator_prefect import optimized_flow`.

`@optimized_flow` stands in for `prefect.flow`; `OptimizedTaskRunner` for `DaskTaskRunner`. Both are
loaded when they are first asked for, because Prefect takes seconds to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator_prefect.decorator import optimized_flow
    from orchestrator_prefect.task_runner import OptimizedTaskRunner

__all__ = ["OptimizedTaskRunner", "optimized_flow"]

_HOME = {"OptimizedTaskRunner": "task_runner", "optimized_flow": "decorator"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
