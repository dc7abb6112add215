"""How kernels are compiled: numba's own way, without what takes time and is of no use here.

On a new machine all kernels are compiled before plans are good; see `warm.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import compiler, typed_passes

from orchestrator_core.plan.engine.borrowing import BorrowingLowering
from orchestrator_core.plan.engine.piece import Piece

OWN = frozenset(("no_cfunc_wrapper", "no_cpython_wrapper", "release_gil"))
"""Flags that say nothing about the functions that a kernel calls."""


class Flags(compiler.Flags):
    """A kernel's flags, as they matter to what it calls.

    numba compiles its own functions, such as `numpy.argsort`, once for all kernels of equal flags,
    and compares flags some hundred times in a function, all 22 of them, one by one.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, compiler.Flags):
            return NotImplemented
        return self is other or _passed_on(self) == _passed_on(other)

    def __hash__(self) -> int:
        return SAME


def _passed_on(flags: Any) -> dict[str, Any]:
    """Those that are not as ever, without a kernel's own."""
    usual = flags.options
    given = flags._values.items()
    return {name: x for name, x in given if name not in OWN and x != usual[name].default}


SAME = hash(compiler.Flags())
"""numba's hash of flags is of their names."""


class KernelCompiler(compiler.Compiler):
    """For functions that Python calls."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.state.flags = Flags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (BorrowingLowering if each is typed_passes.NativeLowering else each, why)
            for each, why in passes.passes
        ]
        passes.finalize()
        return [passes]


class PieceCompiler(KernelCompiler):
    """For functions that only other compiled code calls."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = Piece(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)
