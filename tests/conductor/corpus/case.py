"""Cases: a function, arrays for it, and what is expected of the conductor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import numpy as np

Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """Attributes:
    function: of arrays, or of trees of them; is written for any float type of its arguments.
    arguments: makes them, the same ones at each call.
    large: the length from which on an axis counts as large; a value with two such axes is pairwise.
    is_tiled: shall no pairwise value be left? None if it does not matter.
    moving: which arguments derivatives are taken by.
    carried: the argument that has the shape of the result, for layers that follow each other.
    is_x64: does it need numbers of 64 bits? needs: packages beside JAX.
    """

    name: str
    function: Function
    arguments: Callable[[], tuple[Any, ...]]
    large: int = 0
    is_tiled: bool | None = None
    moving: tuple[int, ...] = (0, 1, 2)
    carried: int = 0
    is_x64: bool = False
    needs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray[Any, Any]:
    """Normally distributed float32 numbers, the same for the same seed."""
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def family(
    name: str,
    functions: Mapping[str, Function],
    arguments: Callable[[], tuple[Any, ...]],
    **rest: Any,
) -> list[Case]:
    """Cases of the same arguments."""
    return [Case(f"{name}: {key}", each, arguments, **rest) for key, each in functions.items()]


def wide(tree: Any) -> Any:
    """The same numbers as float64; integers and truth values as they are."""
    return jax.tree.map(_wide, tree)


def _wide(leaf: Any) -> Any:
    is_number = jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating)
    return np.asarray(leaf).astype(np.float64) if is_number else leaf


def shaken(tree: Any, seed: int = 0) -> Any:
    """The same numbers but for the last digit of those below float64, up or down by chance."""
    random = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: _shaken(leaf, random), tree)


def _shaken(leaf: Any, random: np.random.Generator) -> Any:
    if leaf.dtype == np.float64 or not jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating):
        return leaf
    array = np.asarray(leaf)
    to = np.where(random.integers(2, size=array.shape) == 1, np.inf, -np.inf).astype(array.dtype)
    is_usual = np.isfinite(array) & (array != 0)
    return np.where(is_usual, np.nextafter(array, to), array)
