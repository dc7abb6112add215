"""A module that somebody names on the command line: a file, or a dotted name."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from orchestrator_core.errors import InvalidInput


def load_module(source: str, expected: str) -> ModuleType:
    """The module, imported; what it prints goes to stderr.

    Args:
        source: path of a Python file, or dotted name of a module.
        expected: what could have been named instead, for messages.

    Raises:
        InvalidInput: if it is not there, or cannot be imported.
    """
    if not source:
        raise InvalidInput(f"there is no file or module before the colon; expected {expected}")
    with contextlib.redirect_stdout(sys.stderr):
        try:
            if source.endswith(".py"):
                return _from_file(Path(source))
            return _by_name(source, expected)
        except InvalidInput:
            raise
        except (Exception, SystemExit) as error:
            raise InvalidInput(
                f"importing {source} failed with {type(error).__name__}: {error}; "
                "try to import it in Python"
            ) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}")
    sys.path.insert(0, str(path.resolve().parent))
    # A file may be called as something that is loaded already.
    name = path.stem if path.stem not in sys.modules else f"_flow_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _by_name(name: str, expected: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise InvalidInput(
            f"there is no module {name!r} here or among the installed packages; expected {expected}"
        ) from None
