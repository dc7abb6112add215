"""The name of a flow as its source tells it: nothing is imported, nothing runs.

To import a module of flows means to import Prefect, which takes seconds.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from orchestrator_core.cli.target import FlowTarget

DECORATORS = ("flow", "optimized_flow")
Function = ast.FunctionDef | ast.AsyncFunctionDef
LARGEST = 2_000_000
"""Bytes of a source that is read."""


def name_in_source(target: FlowTarget) -> str | None:
    """The flow's name; None where the source alone does not tell it for certain."""
    function = _function(target)
    return None if function is None else _decorated(function.decorator_list[0], function.name)


def stated_in_source(target: FlowTarget) -> dict[str, Any]:
    """The arguments of the flow's decorator whose values stand there: numbers, text, collections of
    them. What its module would have to be asked for is left out."""
    function = _function(target)
    if function is None or _decorated(function.decorator_list[0], function.name) is None:
        return {}
    call = function.decorator_list[0]
    found: dict[str, Any] = {}
    for keyword in call.keywords if isinstance(call, ast.Call) else ():
        if keyword.arg is not None:
            with contextlib.suppress(ValueError, TypeError, SyntaxError, RecursionError):
                found[keyword.arg] = ast.literal_eval(keyword.value)
    return found


def file_of(source: str) -> Path | None:
    """The file of a path or of a dotted name; None if there is none."""
    if source.endswith(".py"):
        return Path(source)
    where: list[str] | None = [str(Path.cwd()), *sys.path]
    spec = None
    for part in source.split("."):
        if where is None:
            return None
        spec = PathFinder.find_spec(part, where)
        where = None if spec is None else spec.submodule_search_locations
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


def _function(target: FlowTarget) -> Function | None:
    """The one function of that name at the top level, if nothing else there has its name, and one
    decorator makes something of it."""
    path = file_of(target.source)
    if path is None or not target.attribute:
        return None
    try:
        if path.stat().st_size > LARGEST:
            return None
        module = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    bound = [statement for statement in module.body if target.attribute in _binds(statement)]
    if len(bound) != 1 or _has_star(module):
        return None
    (function,) = bound
    if not isinstance(function, Function) or len(function.decorator_list) != 1:
        return None
    return function


def _binds(statement: ast.stmt) -> set[str]:
    """Names that the statement may give a meaning to, or take it from."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(each.asname or each.name).split(".")[0] for each in statement.names}
    # Whatever else speaks of the name may change what it stands for.
    return set(_spoken_of(statement))


def _spoken_of(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.value.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def _has_star(module: ast.Module) -> bool:
    imports = (node for node in module.body if isinstance(node, ast.ImportFrom))
    return any(each.name == "*" for node in imports for each in node.names)


def _decorated(decorator: ast.expr, function: str) -> str | None:
    """The name that the decorator gives the function."""
    call = decorator if isinstance(decorator, ast.Call) else None
    target = decorator if call is None else call.func
    known = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    if known not in DECORATORS:
        return None
    plain = function.replace("_", "-")
    if call is None:
        return plain
    if call.args or any(keyword.arg is None for keyword in call.keywords):
        return None
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "name"), None)
    if given is None:
        return plain
    text = given.value if isinstance(given, ast.Constant) else None
    return text if isinstance(text, str) and text else None
