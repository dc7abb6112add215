"""Budget: how much planning may cost."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields
from numbers import Integral, Real

import msgspec

from orchestrator_core.errors import InvalidBudget, InvalidFormat
from orchestrator_core.graph.text import shown


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to plan, and when to stop sooner.

    Attributes:
        seconds: wall seconds, >= 0; the cheapest planner always runs, whatever the budget.
        seed: of every random choice, >= 0.
        iterations: if given, planning counts steps instead of seconds, so that the same instance,
            seed and iterations give the same schedule on any machine (`seconds` then only guards
            against a planner that hangs).
        gap: stop as soon as the proven gap is at most this, >= 0.
    """

    seconds: float = 2.0
    seed: int = 0
    iterations: int | None = None
    gap: float = 0.0

    def __post_init__(self) -> None:
        steps = self.iterations
        rules = {
            "seconds": (
                self.seconds,
                "finite and >= 0",
                isinstance(self.seconds, Real) and 0 <= self.seconds < math.inf,
            ),
            "seed": (self.seed, "a whole number >= 0", _whole(self.seed)),
            "iterations": (steps, "a whole number >= 0 or None", steps is None or _whole(steps)),
            "gap": (self.gap, ">= 0", isinstance(self.gap, Real) and self.gap >= 0),
        }
        for what, (found, possible, fine) in rules.items():
            if not fine:
                raise InvalidBudget(f"Budget({what}={found!r}): it must be {possible}")

    @staticmethod
    def from_json(text: str | bytes) -> Budget:
        """The budget that `to_json` wrote.

        Raises:
            InvalidFormat: if the text is no such JSON. InvalidBudget: if it holds no valid budget.
        """
        try:
            stated = msgspec.json.decode(text, type=dict[str, object])
            known = [field.name for field in fields(Budget)]
            for name in stated:
                if name not in known:
                    raise InvalidFormat(
                        f"no budget in JSON: it has no {shown(name)}; there are {', '.join(known)}"
                    )
            return msgspec.convert(stated, Budget)
        except msgspec.ValidationError as error:
            if isinstance(error.__cause__, InvalidBudget):
                raise error.__cause__ from None
            raise InvalidFormat(f"no budget in JSON: {error}") from None
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise InvalidFormat(f"no budget in JSON: {error}") from None

    def to_json(self) -> bytes:
        """JSON of its fields; UTF-8."""
        return msgspec.json.encode(self)


def seconds_left(budget: Budget, began: float) -> float:
    """Of who began at that moment of `time.perf_counter`; infinity where steps are counted."""
    if budget.iterations is not None:
        return math.inf
    return budget.seconds - (time.perf_counter() - began)


def _whole(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool) and int(number) >= 0
