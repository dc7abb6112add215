"""Keyed: tasks that have a key, which is Dask's, and a name, which is ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

from orchestrator_core.execute.directives import Key


class _Both(Protocol):
    @property
    def keys(self) -> Sequence[Key]: ...

    @property
    def names(self) -> Sequence[str]: ...


class Keyed:
    """How the one is found by the other, for who has `keys` and `names` in the same order."""

    @cached_property
    def place(self: _Both) -> Mapping[Key, int]:
        """The position of each key."""
        return {key: i for i, key in enumerate(self.keys)}

    @cached_property
    def key_of(self: _Both) -> Mapping[str, Key]:
        """The key of each name."""
        return dict(zip(self.names, self.keys, strict=True))
