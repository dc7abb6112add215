"""Code that only other compiled code calls: kept for them as LLVM's text (stage 3).

numba makes each function ready to run: it links a copy of all that the function calls into it,
optimises the whole, and emits machine code; so what stands at the bottom of ten callers is
optimised eleven times. A piece is neither optimised nor emitted by itself: it is once in each
kernel that Python calls, whose optimiser sees all of it at once.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from llvmlite import ir as llvm
from numba.core import cgutils, codegen

ENVIRONMENT = "_ZN08NumbaEnv"
"""How the names begin of what holds a function's environment, which Python sets."""


class Piece(codegen.JITCodeLibrary):
    """The code of one function, and of what it calls."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._place_environments()
        self._finalized = True

    def _place_environments(self) -> None:
        """numba sets them in memory as soon as the function is compiled, which has none."""
        engine = self._codegen._engine
        known = (each.name for each in self._final_module.global_variables)
        names = [name for name in known if name.startswith(ENVIRONMENT)]
        module = self._codegen._create_empty_module(f"environments of {self.name}")
        for name in names:
            if not engine.is_symbol_defined(name):
                _declare(module, name)
        self._codegen._add_module(binding.parse_assembly(str(module)))
        engine.finalize_object()


def _declare(module: Any, name: str) -> None:
    """An empty pointer, which kernels with the same name for it share."""
    variable = llvm.GlobalVariable(module, cgutils.voidptr_t, name=name)
    variable.linkage = "common"
    variable.initializer = cgutils.get_null_value(variable.type.pointee)
