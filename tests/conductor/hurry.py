"""How programs are compiled whose values are compared within a tolerance."""

from __future__ import annotations

IN_A_HURRY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""XLA's options: the same equations, in other instructions. A program of a test is run once, and
compiling it well takes longer."""
