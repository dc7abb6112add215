"""Following the user's own functions: each is rewritten when it is first called in a trace."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from prefect.tasks import Task

from orchestrator_prefect.tracing.rewritten import rewritten
from orchestrator_prefect.tracing.watch import is_users, is_users_file, refuse

HOOKS: dict[str, Callable[..., Any]] = {}
"""What rewritten functions ask, by the name that it has in them; `hooks` fills it in."""


def follow(function: FunctionType) -> FunctionType:
    """The function itself, which from now on asks before it does anything.

    Raises:
        Refused: if its source cannot be read.
    """
    if not HOOKS.keys() & set(function.__code__.co_names):
        code = rewritten(function.__code__)
        if code is None:
            name = function.__qualname__
            refuse(f"the source of {name}() cannot be read, or is not alone on its line")
            return function
        function.__code__ = code
        function.__globals__.update(HOOKS)
    return function


def follow_class(cls: type) -> bool:
    """Is it a class of the user's? Its methods ask from now on."""
    found = [each for base in cls.__mro__ for each in _functions(base)]
    mine = [each for each in found if is_users(each.__code__)]
    for function in mine:
        follow(function)
    return bool(mine) or _is_users_module(cls.__module__)


def is_of_task(function: FunctionType) -> bool:
    """Is it the function of a task that stands in its module?"""
    tasks = (each for each in function.__globals__.values() if isinstance(each, Task))
    return any(task.fn is function for task in tasks)


def _is_users_module(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and is_users_file(file)


def _functions(cls: type) -> Iterator[FunctionType]:
    for value in vars(cls).values():
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, property):
            value = value.fget
        if isinstance(value, FunctionType):
            yield value
