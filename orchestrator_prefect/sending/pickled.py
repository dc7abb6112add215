"""A value that is pickled already, for messages that many tasks share."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle  # type: ignore[import-untyped]


class Pickled:
    """Pickles at the price of its bytes, and unpickles as the value that was given.

    Attributes:
        content: the value.

    Raises:
        Exception: whatever cloudpickle raises of a value that cannot be pickled.
    """

    __slots__ = ("_bytes", "content")

    def __init__(self, content: Any) -> None:
        self.content = content
        self._bytes = cloudpickle.dumps(content)

    def __reduce__(self) -> tuple[Any, ...]:
        return (pickle.loads, (self._bytes,))
