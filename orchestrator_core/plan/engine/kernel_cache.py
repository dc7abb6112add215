"""numba's cache for a kernel, which finds what is kept wherever the package lies (stage 3).

numba looks by the path of the source: each new environment on a machine would compile for minutes
what another one has compiled. Here the folder is named by the sources that the code was made from
(`code_cache.py`), and by the libraries that it was made with.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import caching

from orchestrator_core.plan.engine.code_cache import folder_of
from orchestrator_core.plan.engine.locked import locked

VERSIONS = f"numba{numba.__version__}-llvmlite{llvmlite.__version__}-numpy{np.__version__}"
"""Code that one version of these has made is not run by another."""


class _Place(caching._CacheLocator):
    """The folder of the module that a function stands in; none for what is of another package."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._folder, self._line = folder, function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(self._folder / VERSIONS)

    def get_source_stamp(self) -> str:
        """Nothing more than what the folder's name says."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Place | None:
        folder = folder_of(function.__module__)
        return None if folder is None else cls(function, folder)


_PLACES = [_Place, *caching.CompileResultCacheImpl._locator_classes]


class _Compiled(caching.CompileResultCacheImpl):
    """Machine code; where our folder cannot be written, at a place of numba's choice."""

    _locator_classes = _PLACES


class KernelCache(caching.FunctionCache):
    """What is kept of one kernel."""

    _impl_class = _Compiled

    def save_overload(self, signature: Any, made: Any) -> None:
        """One process at a time: numba reads the index of what is kept, and writes it with one
        entry more. Of two at once the first would lose its own, or both would name theirs alike."""
        folder = folder_of(self._py_func.__module__)
        with locked(None if folder is None else folder / "lock"):
            super().save_overload(signature, made)
