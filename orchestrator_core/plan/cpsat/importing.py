"""Importing CP-SAT at half the price."""

from __future__ import annotations

import importlib
import sys
import types


def import_cp_sat() -> None:
    """Import CP-SAT with a stand-in for pandas, which it needs for its series only; pandas would
    take three quarters of a process's start. Should that fail, import it as it is."""
    if "pandas" in sys.modules:
        return
    sys.modules["pandas"] = _Pandas("pandas")
    try:
        importlib.import_module("ortools.sat.python.cp_model")
    except Exception:
        for name in [m for m in sys.modules if m.partition(".")[0] == "ortools"]:
            del sys.modules[name]
    finally:
        del sys.modules["pandas"]


class _Pandas(types.ModuleType):
    """Has any class, and none of them has an instance."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
