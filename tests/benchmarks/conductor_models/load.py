"""Modules of repositories that are no packages, or that import what their models do not need."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


class MissingRepository(Exception):
    """Names the file that should be there."""


def load(path: Path, name: str, unneeded: Sequence[str] = ()) -> Any:
    """The module of a file, known as `name`; empty modules stand for those in `unneeded`."""
    if not path.exists():
        raise MissingRepository(str(path))
    for each in unneeded:
        sys.modules.setdefault(each, _Empty(each))
    parent = name.rpartition(".")[0]
    if parent:
        package = sys.modules.setdefault(parent, ModuleType(parent))
        package.__path__ = [str(path.parent)]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class _Empty(ModuleType):
    """Has every name, as None."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None
