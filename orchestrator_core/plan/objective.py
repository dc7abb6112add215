"""Objective: what a plan minimises (stage 3).

The criteria, by name:

    makespan     the last end; seconds
    tardiness    sum over all task instances of ``weight * max(0, end - due)``; weighted seconds
    price        what renting the workers costs: each from its first use to its last; money
    busy-price   what the threads cost that are busy, where idle ones are free; money
    memory       the most bytes that running tasks and held outputs take on any worker at any moment

`objectives/` says exactly what each of them is worth for a schedule.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.errors import InvalidInput

CRITERIA = ("makespan", "tardiness", "price", "busy-price", "memory")
"""All names; their order is that of `Goal.weights`."""


@dataclass(frozen=True, slots=True)
class Objective:
    """What is minimised: criteria by name, the most important first, each of them once.

    Where several are given, the second counts only among schedules that are equal in the first,
    and so on.

    Raises:
        InvalidInput: for no criterion, for one that there is not, or for one that comes twice.
    """

    criteria: tuple[str, ...] = ("makespan",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "criteria", tuple(self.criteria))
        known = ", ".join(CRITERIA)
        if not self.criteria:
            raise InvalidInput(f"the objective names no criterion; there are {known}")
        for name in self.criteria:
            if name not in CRITERIA:
                raise InvalidInput(f"there is no criterion {name!r}; there are {known}")
        if len(set(self.criteria)) < len(self.criteria):
            raise InvalidInput(f"the objective {str(self)!r} names a criterion twice")

    @staticmethod
    def of(objective: Objective | str | tuple[str, ...]) -> Objective:
        """The objective of a text such as ``"tardiness,makespan"`` or of names; or itself.

        Raises:
            InvalidInput: as the class.
        """
        if isinstance(objective, Objective):
            return objective
        names = objective.split(",") if isinstance(objective, str) else objective
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
            raise InvalidInput(
                f"objective={objective!r}: expected names such as 'tardiness,makespan'"
            )
        return Objective(tuple(name.strip() for name in names))

    @property
    def primary(self) -> str:
        """The most important criterion."""
        return self.criteria[0]

    def __str__(self) -> str:
        """The text from which `of` makes it again."""
        return ",".join(self.criteria)


MAKESPAN = Objective()
