"""Origin: where code stands, said so that it is the same wherever it runs.

A flow is run from a shell, served, deployed into an image or cloned for one run; its name may be
that of another project's flow, and its lines move whenever somebody edits the file. What stays is
the project, the file's place in it, and the function's name.
"""

from __future__ import annotations

import inspect
import os
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "prefect.yaml", "requirements.txt", ".git")
"""Where one of these lies, a project begins."""

INSTALLED = ("site-packages", "dist-packages")

NOTEBOOK, TYPED = "JPY_SESSION_NAME", "typed"
"""Where Jupyter says which notebook this is; and instead of a file's name, for what was typed where
nothing says so."""


def origin_of(function: Any) -> str:
    """``project/folder/file.py:function``; empty for what has no code of its own."""
    inner = inspect.unwrap(function) if callable(function) else function
    code = getattr(inner, "__code__", None)
    if code is None:
        return ""
    name = getattr(inner, "__qualname__", code.co_qualname)
    return f"{place_of(code.co_filename)}:{name}"


def place_of(file: str) -> str:
    """``project/folder/file.py``: the file from its project's folder on.

    The project is called what its ``pyproject.toml`` calls it, else as its folder. Without a
    project it is the file in its folder; in a folder for temporary files, which is called otherwise
    each time, the file alone.
    """
    if _is_typed(file):
        return _in_project(Path.cwd() / (Path(os.environ.get(NOTEBOOK, "")).name or TYPED))
    return _in_project(Path(os.path.abspath(file)))


def _is_typed(file: str) -> bool:
    """IPython gives each cell a file of its own, which is not there."""
    return file.startswith("<") or os.sep + "ipykernel_" in file


@lru_cache(maxsize=4096)
def _in_project(path: Path) -> str:
    parts = path.parts
    for installed in INSTALLED:
        if installed in parts:
            return "/".join(parts[parts.index(installed) + 1 :])
    root = next((folder for folder in path.parents if _is_project(folder)), None)
    if root is not None:
        return f"{_name_of(root)}/{path.relative_to(root).as_posix()}"
    return path.name if _is_temporary(path.parent) else f"{path.parent.name}/{path.name}"


def _is_project(folder: Path) -> bool:
    return any(os.path.exists(folder / mark) for mark in MARKS)


def _name_of(root: Path) -> str:
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8")).get("project")
    except (OSError, ValueError):
        return root.name
    name = project.get("name") if isinstance(project, dict) else None
    return name if isinstance(name, str) and name else root.name


def _is_temporary(folder: Path) -> bool:
    """By what is said of it: `tempfile` finds out by writing a file, which a trace must not."""
    stated = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    temporary = {Path(os.path.abspath(path)) for path in (*stated, "/tmp", "/var/tmp") if path}
    return folder in temporary or folder.parent in temporary
