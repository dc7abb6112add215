"""Inputs: what each task of a graph reads, noted on the event loop in two flat lists.

A list for each task would take twice the time, and wake the garbage collector once in 700 tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, overload

from orchestrator_core.execute.directives import Key

if TYPE_CHECKING:
    from distributed.scheduler import TaskState


class Inputs(Sequence[Sequence[Key]]):
    """For each task the keys that it reads; n tasks."""

    def __init__(self, states: Iterable[TaskState]) -> None:
        """Copies what may change on the event loop."""
        dependencies = [state.dependencies for state in states]
        self._counts = [len(sources) for sources in dependencies]
        self._keys: list[Key] = [source.key for sources in dependencies for source in sources]

    @cached_property
    def _ends(self) -> list[int]:
        """(n + 1,) where the keys of each task begin, and the next one's."""
        return [0, *accumulate(self._counts)]

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[Sequence[Key]]:
        # Asked for on the event loop: without this, each step would take a microsecond.
        keys = self._keys
        return (keys[first:end] for first, end in pairwise(self._ends))

    @overload
    def __getitem__(self, index: int) -> Sequence[Key]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sequence[Key]]: ...

    def __getitem__(self, index: int | slice) -> Sequence[Key] | Sequence[Sequence[Key]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._keys[self._ends[place] : self._ends[place + 1]]
