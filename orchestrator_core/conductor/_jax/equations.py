"""What is known of an equation beside its operation: what holds around it, and its source line."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

Equation: TypeAlias = Any

_HERE = str(pathlib.Path(__file__).parents[1]) + os.sep


def context_of(equation: Equation) -> Callable[[], AbstractContextManager[Any]]:
    """What holds while the equation is evaluated: threefry's form, metadata, mesh; and its name
    scopes and source line, as ``jax.core.eval_jaxpr`` keeps them."""
    return functools.partial(holding, equation)


def settings(equation: Equation) -> Any:
    """The part of its context that a result depends on, hashable; an object that is the same for
    equal settings."""
    return equation.ctx


def settings_of(context: Callable[[], Any] | None) -> Any:
    """The `settings` of the equation that `context_of` was given."""
    return None if context is None else settings(context.args[0])  # type: ignore[attr-defined]


@contextlib.contextmanager
def holding(equation: Equation) -> Iterator[None]:
    """While the equation is evaluated: see `context_of`."""
    from jax._src import source_info_util  # there is no promised name in any version

    info = equation.source_info
    names = source_info_util.current_name_stack() + info.name_stack
    with source_info_util.user_context(info.traceback, name_stack=names), equation.ctx.manager:
        yield


def source_of(equation: Equation) -> str:
    """``file.py:12 (function)``, where the user wrote it; empty if nobody knows."""
    traceback = equation.source_info.traceback
    return "" if traceback is None else _users_line(traceback)


@functools.lru_cache(maxsize=4096)
def _users_line(traceback: Any) -> str:
    from jax._src import source_info_util  # there is no promised name in any version

    for code, instruction in zip(*traceback.raw_frames(), strict=True):
        file = code.co_filename
        if source_info_util.is_user_filename(file) and not file.startswith(_HERE):
            return _line(code, instruction)
    return ""


@functools.lru_cache(maxsize=4096)
def _line(code: Any, instruction: int) -> str:
    from jax._src import source_info_util

    frame = source_info_util.raw_frame_to_frame(code, instruction)
    return f"{frame.file_name}:{frame.start_line} ({frame.function_name})"
