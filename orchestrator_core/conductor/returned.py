"""What a function returns: arrays, and whatever else there is, which is the same at every call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np


@dataclass(frozen=True, slots=True)
class Returned:
    """Attributes:
    leaves: those that are no arrays, as they are; None where an array stands.
    """

    tree: Any
    is_array: tuple[bool, ...]
    leaves: tuple[Any, ...]

    @classmethod
    def of(cls, value: Any) -> tuple[Returned, list[Any]]:
        """And its arrays. Python numbers are none: the function returns them as they are, too."""
        leaves, tree = jax.tree.flatten(value)
        which = tuple(isinstance(leaf, jax.Array | np.ndarray | np.generic) for leaf in leaves)
        pairs = list(zip(leaves, which, strict=True))
        rest = tuple(None if is_one else leaf for leaf, is_one in pairs)
        return cls(tree, which, rest), [leaf for leaf, is_one in pairs if is_one]

    def __call__(self, arrays: Iterable[Any]) -> Any:
        """The whole, with these arrays."""
        those = iter(arrays)
        pairs = zip(self.leaves, self.is_array, strict=True)
        return jax.tree.unflatten(self.tree, [next(those) if a else leaf for leaf, a in pairs])
