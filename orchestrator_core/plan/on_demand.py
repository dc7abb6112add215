"""What columns need to be read as objects: names by number, and objects one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Names(dict[str, int]):
    """Numbers names as they come."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]


class View(Sequence[T]):
    """Objects made from columns, one at a time."""

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, i: int) -> T: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[T]: ...
    def __getitem__(self, i: int | slice) -> T | Sequence[T]:
        if isinstance(i, slice):
            return [self._make(k) for k in range(*i.indices(self._length))]
        if not -self._length <= i < self._length:
            raise IndexError(i)
        return self._make(i % self._length)

    def __iter__(self) -> Iterator[T]:
        return (self._make(i) for i in range(self._length))
