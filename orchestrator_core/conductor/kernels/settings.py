"""Where and how kernels are used."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

_interpreted: contextvars.ContextVar[bool] = contextvars.ContextVar("interpreted", default=False)


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Meanwhile, in this thread, kernels are used on any device and interpreted by Pallas, which is
    slow: for tests."""
    token = _interpreted.set(True)
    try:
        yield
    finally:
        _interpreted.reset(token)


def are_interpreted() -> bool:
    """Are kernels run by the interpreter?"""
    return _interpreted.get()
