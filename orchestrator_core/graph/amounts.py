"""Named amounts, such as ``{"GPU": 1}``: a mapping that cannot change and can be hashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.figures import as_float
from orchestrator_core.graph.text import ALLOWED, is_name, shown

INFINITY = float("inf")


class Amounts(Mapping[str, float]):
    """An immutable mapping from a name to an amount > 0, ordered by name; amounts of 0 vanish."""

    __slots__ = ("_pairs",)
    _pairs: tuple[tuple[str, float], ...]

    def __init__(self, amounts: Mapping[str, float] | None = None) -> None:
        if amounts and not isinstance(amounts, Mapping):
            raise InvalidInput(
                f"expected amounts by name, such as {{'GPU': 1}}, found {shown(amounts)}"
            )
        pairs = (amounts or {}).items()
        for name, amount in pairs:
            if not isinstance(name, str) or not is_name(name):
                raise InvalidInput(
                    f"a resource is named {shown(name)}; it has to be text of {ALLOWED}"
                )
            if not 0 <= as_float(amount) < INFINITY:
                raise InvalidInput(
                    f"amount of {name!r} must be finite and >= 0, found {shown(amount)}"
                )
        self._pairs = tuple(sorted((name, float(amount)) for name, amount in pairs if amount > 0))

    def __getitem__(self, name: str) -> float:
        for key, amount in self._pairs:
            if key == name:
                return amount
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        return f"Amounts({dict(self._pairs)!r})"

    def __reduce__(self) -> tuple[type[Amounts], tuple[dict[str, float]]]:
        return (Amounts, (dict(self._pairs),))


NOTHING = Amounts()
