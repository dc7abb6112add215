"""Functions that run as machine code: what carries `@compiled`, without the interpreter's lock.

numba is behind `machine`, and loaded when the first of them is called: that takes a process half a
second, and as long again for what an answer needs of them. Compiled code is cached on disk, so that
a machine compiles once; `warm_up` in `warm.py` does it ahead of time. Where seconds of compiling
cannot be afforded, a function that is not on disk yet runs as the Python that it is
(`not_compiling`), and where not even loading can, all of them do (`interpreting`).
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_may_compile = contextvars.ContextVar("may_compile", default=True)
_interprets = contextvars.ContextVar("interprets", default=False)
_making = threading.RLock()


class Kernel:
    """A function that runs as machine code, compiled for each set of argument types.

    Attributes:
        py_func: the same in Python.
        options: of numba. from_python: may Python call it, or only compiled code?
    """

    def __init__(self, function: Callable[..., Any], from_python: bool, **options: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.from_python, self.options = function, from_python, options
        self._machine: Any = None

    def __call__(self, *args: Any) -> Any:
        if _interprets.get():
            return plainly(interpreted(self))(*args)
        if not self.from_python:
            raise TypeError(f"{self.py_func.__qualname__} can be called by compiled code alone")
        return self.machine(*args)

    @property
    def machine(self) -> Any:
        """numba's side of it; made once, when it is first needed."""
        if self._machine is None:
            from orchestrator_core.plan.engine.machine import dispatcher

            with _making:
                self._machine = self._machine or dispatcher(self)
        return self._machine


def compiled(function: F) -> F:
    """The function as machine code; compiled at its first call for each set of argument types."""
    return cast(F, Kernel(function, True))


def inner(function: F) -> F:
    """The same for a function that only compiled code calls: it needs no door from Python."""
    return cast(F, Kernel(function, False))


def inlined(function: F) -> F:
    """As `inner`, but its code is copied into those that call it: where arrays are `lent`."""
    return cast(F, Kernel(function, False, forceinline=True))


def lent(group: T) -> T:
    """A named tuple of arrays (and numbers) which compiled code uses without counting references.

    Counting takes more time than all else in a kernel of many small functions. It can be left out
    where all of them are `inlined`, and where a caller holds the group for as long: so lend what a
    function was given as an argument, not what it has made.
    """
    return group


@contextlib.contextmanager
def not_compiling() -> Iterator[None]:
    """Meanwhile, in this thread, what would have to be compiled first is interpreted: a hundred
    times slower than machine code, but at once. The results are the same."""
    token = _may_compile.set(False)
    try:
        yield
    finally:
        _may_compile.reset(token)


def may_compile() -> bool:
    """May this thread wait for a compiler?"""
    return _may_compile.get()


@contextlib.contextmanager
def interpreting() -> Iterator[None]:
    """Meanwhile, in this thread, all is interpreted, and nothing of numba loaded: for small
    questions to a process that has loaded nothing yet. The results are the same."""
    token = _interprets.set(True)
    try:
        yield
    finally:
        _interprets.reset(token)


def is_interpreting() -> bool:
    """Is all interpreted in this thread?"""
    return _interprets.get()


def plainly(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with numbers of Python's where it returns some of NumPy's, as compiled code."""

    def run(*args: Any) -> Any:
        found = function(*args)
        if isinstance(found, np.generic):
            return found.item()
        if type(found) is tuple:
            return tuple(each.item() if isinstance(each, np.generic) else each for each in found)
        return found

    return run


@functools.cache
def interpreted(kernel: Any) -> Callable[..., Any]:
    """The Python function of a kernel, and in it those of the kernels that it calls."""
    source = kernel.py_func
    names = dict(source.__globals__)
    function = types.FunctionType(
        source.__code__, names, source.__name__, source.__defaults__, source.__closure__
    )
    for name in source.__code__.co_names:
        called = names.get(name)
        if called is kernel:
            names[name] = function
        elif isinstance(called, Kernel):
            names[name] = interpreted(called)
    return function
