"""The decorator that the table is run with now; a module is never pickled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_decorator: Callable[..., Any] | None = None


def use(decorator: Callable[..., Any]) -> None:
    """Flows inside of flows are made with this one from now on."""
    global _decorator
    _decorator = decorator


def made(body: Callable[..., Any]) -> Any:
    """The flow of that function."""
    assert _decorator is not None
    return _decorator()(body)
