"""The door to numba: what carries `@compiled` runs as machine code, without the interpreter lock.

Only modules that the light face does not load may import this one. Compiled code is cached on disk,
so that a machine compiles once; `warm_up` in `warm.py` does it ahead of time. Where seconds of
compiling cannot be afforded, a function that is not on disk yet runs as the Python that it is.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.extending import intrinsic, overload

from orchestrator_core.plan.engine.code_cache import kept_apart

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_may_compile = contextvars.ContextVar("may_compile", default=True)


def compiled(function: F) -> F:
    """The function as machine code; compiled at its first call for each set of argument types."""
    kernel = _kernel(function)
    kernel._compile_for_args = functools.partial(_machine_code_or_python, kernel)
    return cast(F, kernel)


def inner(function: F) -> F:
    """The same for a function that only compiled code calls: it needs no door from Python."""
    return cast(F, _kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True))


def inlined(function: F) -> F:
    """As `inner`, but its code is copied into those that call it: where arrays are `lent`."""
    return cast(F, _kernel(function, True, no_cpython_wrapper=True, no_cfunc_wrapper=True))


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


def _kernel(function: Callable[..., Any], forceinline: bool = False, **options: Any) -> Any:
    """One machine code for all integers: numba would compile ``f(x, 0)`` and ``f(x, y)`` apart."""
    with kept_apart(function.__module__):
        kernel = njit(cache=True, nogil=True, forceinline=forceinline, **options)(function)
    template, unliteral = kernel.get_call_template, cast(Any, types).unliteral

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: unliteral(each) for name, each in kws.items()}
        return template(tuple(map(unliteral, args)), plain)

    kernel.get_call_template = get_call_template
    return kernel


def _machine_code_or_python(kernel: Any, *args: Any) -> Any:
    """Called by numba when it meets new types of arguments; what it returns is then called."""
    if not _may_compile.get():
        signature = tuple(kernel.typeof_pyval(arg) for arg in args)
        found = kernel._cache.load_overload(signature, kernel.targetctx)
        if found is None:
            return interpreted(kernel)
        kernel.add_overload(found)
        return found.entry_point
    return type(kernel)._compile_for_args(kernel, *args)


@functools.cache
def interpreted(kernel: Any) -> Callable[..., Any]:
    """The Python function of a kernel, and in it those of the kernels that it calls."""
    source = kernel.py_func
    names = dict(source.__globals__)
    function = python_types.FunctionType(
        source.__code__, names, source.__name__, source.__defaults__, source.__closure__
    )
    for name in source.__code__.co_names:
        called = names.get(name)
        if called is kernel:
            names[name] = function
        elif hasattr(called, "py_func"):
            names[name] = interpreted(called)
    return function


@cast("Callable[[F], F]", overload(lent, strict=False))
def _lent(group: Any) -> Any:
    return lambda group: _without_owners(group)


@cast("Callable[[F], Callable[[Any], Any]]", intrinsic)
def _without_owners(typing: Any, group: Any) -> Any:
    """The same arrays, none of which knows whose memory it is."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (found,) = args
        for place, kind in enumerate(signature.args[0]):
            if isinstance(kind, cast(Any, types).Array):
                known = builder.extract_value(found, place)
                array = context.make_array(kind)(context, builder, known)
                array.meminfo = array.meminfo.type(None)
                found = builder.insert_value(found, array._getvalue(), place)
        return found

    return group(group), code
