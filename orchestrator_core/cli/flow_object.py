"""The name of a flow in somebody's module: imports the module, runs no flow.

A flow is known by its shape, a callable with a name and a task runner, so that nothing here needs
Prefect.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from orchestrator_core.cli.target import FlowTarget
from orchestrator_core.errors import InvalidInput


def flow_name(target: FlowTarget) -> str:
    """The name under which runs of the flow are stored.

    Raises:
        InvalidInput: if the module cannot be imported, or holds no such flow.
    """
    module = _load(target.source)
    if not target.attribute:
        return _only_flow(module, target.source)
    if not hasattr(module, target.attribute):
        raise InvalidInput(
            f"{target.source} has no {target.attribute!r}; {_possible(module, target.source)}"
        )
    name = getattr(getattr(module, target.attribute), "name", None)
    if not isinstance(name, str):
        raise InvalidInput(
            f"{target.attribute!r} in {target.source} is no flow; "
            f"{_possible(module, target.source)}"
        )
    return name


def _load(source: str) -> ModuleType:
    """The module, imported; what it prints goes to stderr."""
    with contextlib.redirect_stdout(sys.stderr):
        try:
            return _from_file(Path(source)) if source.endswith(".py") else _by_name(source)
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


def _by_name(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise InvalidInput(
            f"there is no module {name!r} here or among the installed packages; "
            "expected a workflow file, FILE.py:FLOW or MODULE:FLOW"
        ) from None


def _flows(module: ModuleType) -> dict[str, str]:
    """Flows' names by attribute."""
    return {
        attribute: value.name
        for attribute, value in vars(module).items()
        if callable(value)
        and hasattr(value, "task_runner")
        and isinstance(getattr(value, "name", None), str)
    }


def _only_flow(module: ModuleType, source: str) -> str:
    flows = _flows(module)
    if len(set(flows.values())) != 1:
        raise InvalidInput(f"which flow of {source}? {_possible(module, source)}")
    return next(iter(flows.values()))


def _possible(module: ModuleType, source: str) -> str:
    flows = sorted(_flows(module))
    if not flows:
        return "no flow stands at its top level"
    return "give one of " + ", ".join(f"{source}:{flow}" for flow in flows)
