"""Objects that are equal to themselves only."""

from __future__ import annotations

from collections.abc import Hashable


class Same:
    """Stands for an object that has no equality of its own, or none that can be used."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    @staticmethod
    def unless_hashable(value: object) -> Hashable:
        """The object itself if it can be compared."""
        try:
            hash(value)
        except TypeError:
            return Same(value)
        return value
