"""The name of a flow in somebody's module: imports it if its source does not say, runs no flow.

A flow is known by its shape, a callable with a name and a task runner, so that nothing here needs
Prefect; where it is installed, no flow that the module calls itself is run either.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from orchestrator_core.cli.flow_source import file_of, name_in_source
from orchestrator_core.cli.python_module import load_module
from orchestrator_core.cli.target import FlowTarget
from orchestrator_core.errors import InvalidInput
from orchestrator_core.origin import origin_of, place_of

IMPORTING = "orchestrator_prefect.tracing.importing"
"""Home of what keeps flows from running; by name, because it stands above the command line."""


def flow_name(target: FlowTarget) -> tuple[str, str]:
    """The name and the origin under which runs of the flow are stored.

    Raises:
        InvalidInput: if the module cannot be imported, or holds no such flow.
    """
    told, file = name_in_source(target), file_of(target.source)
    if told is not None and file is not None:
        return told, f"{place_of(str(file))}:{target.attribute}"
    found = _flow(target)
    return found.name, origin_of(getattr(found, "fn", None))


def _flow(target: FlowTarget) -> Any:
    with _nothing_runs():
        module = load_module(target.source, "a workflow file, FILE.py:FLOW or MODULE:FLOW")
    if not target.attribute:
        return _only_flow(module, target.source)
    if not hasattr(module, target.attribute):
        raise InvalidInput(
            f"{target.source} has no {target.attribute!r}; {_possible(module, target.source)}"
        )
    found = getattr(module, target.attribute)
    if not isinstance(getattr(found, "name", None), str):
        raise InvalidInput(
            f"{target.attribute!r} in {target.source} is no flow; "
            f"{_possible(module, target.source)}"
        )
    return found


def _nothing_runs() -> AbstractContextManager[None]:
    try:
        found: AbstractContextManager[None] = importlib.import_module(IMPORTING).nothing_runs()
    except (ImportError, RuntimeError):  # it is not installed, or there is no home
        return nullcontext()
    return found


def _flows(module: ModuleType) -> dict[str, Any]:
    """Flows by attribute."""
    return {
        attribute: value
        for attribute, value in vars(module).items()
        if callable(value)
        and hasattr(value, "task_runner")
        and isinstance(getattr(value, "name", None), str)
    }


def _only_flow(module: ModuleType, source: str) -> Any:
    flows = _flows(module)
    if len({flow.name for flow in flows.values()}) != 1:
        raise InvalidInput(f"which flow of {source}? {_possible(module, source)}")
    return next(iter(flows.values()))


def _possible(module: ModuleType, source: str) -> str:
    flows = sorted(_flows(module))
    if not flows:
        return "no flow stands at its top level"
    return "give one of " + ", ".join(f"{source}:{flow}" for flow in flows)
