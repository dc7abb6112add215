"""numba without BLAS: for processes in which no compiled code but ours runs (stage 3)."""

from __future__ import annotations

import importlib
import sys
from typing import Any

USER = "numba.np.arraymath"
"""Looks for SciPy's linear algebra when it is imported, so that compiled code can multiply
matrices, and does without where there is none."""

LIBRARY = "scipy.linalg"


def leave_blas_out() -> None:
    """Let numba find no BLAS: looking for it takes as long as loading all of our compiled code,
    which multiplies no matrices. Where somebody has loaded either before, all stays as it is."""
    if USER in sys.modules or LIBRARY in sys.modules:
        return
    importlib.import_module("numba")
    modules: dict[str, Any] = sys.modules
    modules.setdefault(LIBRARY, None)  # to import it raises ImportError
    try:
        importlib.import_module(USER)
    finally:
        if modules.get(LIBRARY) is None:
            modules.pop(LIBRARY, None)
