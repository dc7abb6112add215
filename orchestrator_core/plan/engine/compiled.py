"""The door to numba: what carries `@compiled` runs as machine code, without the interpreter lock.

Only modules that the light face does not load may import this one. Compiled code is cached on disk
beside its source, so that a machine compiles once; `warm_up` in `warm.py` does it ahead of time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function as machine code; compiled at its first call for each set of argument types."""
    return cast(F, njit(cache=True, nogil=True)(function))


def inner(function: F) -> F:
    """The same for a function that only compiled code calls: it needs no door from Python."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, njit(cache=True, nogil=True, **options)(function))
