"""Compiled simulations, or the same interpreted while a machine has not compiled them yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from orchestrator_core.plan.engine.compiled import is_interpreting, not_compiling
from orchestrator_core.plan.warm import SIMULATION, is_missing

Given = ParamSpec("Given")
Found = TypeVar("Found")


def at_once(run: Callable[Given, Found], *args: Given.args, **kwargs: Given.kwargs) -> Found:
    """What `run` returns, without waiting for a compiler."""
    if is_interpreting() or not is_missing(SIMULATION):
        return run(*args, **kwargs)
    with not_compiling():
        return run(*args, **kwargs)
