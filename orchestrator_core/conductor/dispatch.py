"""Calls that are left to JAX: which whole arguments are given away, and which are no arrays."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax

from orchestrator_core.conductor.given import Given
from orchestrator_core.conductor.traced import Traced

WORDS = (str, bytes, enum.Enum, type)
"""Of which JAX may keep many: it keeps all that it was ever called with."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Attributes:
    donated: positions of arguments that are given away. static, names: positions and names of
        those that are no arrays.
    """

    donated: tuple[int, ...] = ()
    static: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Given, traced: Traced) -> Dispatch | None:
        """Of a call; None if JAX cannot do it."""
        if not traced.is_plain or not all(isinstance(each, WORDS) for each in given.others):
            return None
        none = (False,) * len(given.arrays)
        gone, gone_by_name = given.marked(traced.donated or none, False)
        fixed, fixed_by_name = given.marked(none, True)
        if any(map(any, gone_by_name.values())) or any(map(_is_mixed, gone)):
            return None
        if any(map(_is_tree, (*fixed, *fixed_by_name.values()))):
            return None
        names = tuple(name for name, marks in fixed_by_name.items() if any(marks))
        return cls(_marked(gone), _marked(fixed), names)

    def jitted(self, function: Callable[..., Any]) -> Any:
        """``jax.jit`` of a function of these arguments."""
        return jax.jit(
            function,
            donate_argnums=self.donated,
            static_argnums=self.static,
            static_argnames=self.names,
        )


def _marked(arguments: Iterable[list[bool]]) -> tuple[int, ...]:
    return tuple(k for k, marks in enumerate(arguments) if any(marks))


def _is_mixed(marks: list[bool]) -> bool:
    """Is a part of an argument marked and a part not?"""
    return any(marks) and not all(marks)


def _is_tree(marks: list[bool]) -> bool:
    """Is what is marked but a part of an argument?"""
    return any(marks) and len(marks) > 1
