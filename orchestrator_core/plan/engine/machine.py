"""The door to numba: kernels as machine code, kept on disk.

Loaded by the first kernel that is called; importing numba takes a quarter of a second.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import njit, types
from numba.extending import intrinsic, overload, typeof_impl

from orchestrator_core.plan.engine.compiled import Kernel, interpreted, lent, may_compile, plainly
from orchestrator_core.plan.engine.kernel_cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])

KNOWN = "0.68."
"""Versions of numba whose inside `compiler` knows. With others, all is compiled numba's own way,
which takes longer and runs a little slower."""


def ways(version: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """numba's options for what Python calls, and for what only compiled code calls."""
    python = {"no_cfunc_wrapper": True}
    kernels = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if not version.startswith(KNOWN):
        return python, kernels
    from orchestrator_core.plan.engine.compiler import KernelCompiler, PieceCompiler

    return python | {"pipeline_class": KernelCompiler}, kernels | {"pipeline_class": PieceCompiler}


FOR_PYTHON, FOR_KERNELS = ways(numba.__version__)


def dispatcher(kernel: Kernel) -> Any:
    """numba's object for a kernel.

    It makes one machine code for all integers: numba would compile ``f(x, 0)`` and ``f(x, y)``
    apart.
    """
    options = (FOR_PYTHON if kernel.from_python else FOR_KERNELS) | kernel.options
    made: Any = njit(nogil=True, **options)(kernel.py_func)
    # A piece is in each kernel that uses it, and need not be kept by itself.
    if kernel.from_python or "pipeline_class" not in options:
        with contextlib.suppress(RuntimeError):  # numba finds no place that can be written
            made._cache = cast(Any, KernelCache)(kernel.py_func)
    template, unliteral = made.get_call_template, cast(Any, types).unliteral

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: unliteral(each) for name, each in kws.items()}
        return template(tuple(map(unliteral, args)), plain)

    made.get_call_template = get_call_template
    if kernel.from_python:
        made._compile_for_args = functools.partial(_machine_code_or_python, kernel, made)
    return made


def _machine_code_or_python(kernel: Kernel, made: Any, *args: Any) -> Any:
    """Called by numba when it meets new types of arguments; what it returns is then called."""
    if not may_compile():
        signature = tuple(made.typeof_pyval(arg) for arg in args)
        found = made._cache.load_overload(signature, made.targetctx)
        if found is None:
            return plainly(interpreted(kernel))
        made.add_overload(found)
        return found.entry_point
    return type(made)._compile_for_args(made, *args)


@cast("Callable[[F], F]", typeof_impl.register(Kernel))
def _type_of(kernel: Kernel, context: Any) -> Any:
    """What compiled code takes a kernel for that it names."""
    return cast(Any, types).Dispatcher(kernel.machine)


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
