"""What a softmax and its gradient are made of: sums of products of four things.

For a query i and a key j these are e = exp(s) of the masked scores, d = dO_i . V_j, and for a query
l = sum_j e and t = sum_j e d. The weights are e / l, and with the gradient dO of the result that of
the scores is (e d) / l - (e t) / l^2. Any way of writing it comes to the same terms, as real
numbers do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from orchestrator_core.conductor.kernels.attention.reading import Other

Powers: TypeAlias = tuple[int, int, int, int]
"""Of e, d, l and t."""

NEAR = 1e-6
"""The part of a number by which others may differ that are the same but for rounding."""


@dataclass(frozen=True)
class Terms:
    """A sum: the powers of each product, and its factor. Empty if it is zero."""

    parts: Mapping[Powers, float]

    @classmethod
    def number(cls, value: float) -> Terms:
        return cls({(0, 0, 0, 0): value})

    def times(self, factor: float) -> Terms:
        return Terms({powers: factor * value for powers, value in self.parts.items()})

    def __add__(self, other: Terms) -> Terms:
        made = dict(self.parts)
        for powers, value in other.parts.items():
            before = made.pop(powers, 0.0)
            total = before + value
            if abs(total) > NEAR * max(abs(before), abs(value)):
                made[powers] = total
        return Terms(made)

    def __mul__(self, other: Terms) -> Terms:
        made = Terms({})
        for one, a in self.parts.items():
            for two, b in other.parts.items():
                made += Terms({_added(one, two): a * b})
        return made

    def power(self, exponent: int) -> Terms:
        """Raises:
        Other: of a sum, and of what may be zero if the exponent is negative.
        """
        if len(self.parts) != 1:
            raise Other
        (((e, d, total, t), value),) = self.parts.items()
        if exponent < 0 and ((e, d, t) != (0, 0, 0) or value == 0):
            raise Other
        powers = (e * exponent, d * exponent, total * exponent, t * exponent)
        return Terms({powers: value**exponent})

    def summed(self) -> Terms:
        """Over all keys.

        Raises:
            Other: if that is none of the sums that have a name.
        """
        made = Terms({})
        for (e, d, total, t), value in self.parts.items():
            if (e, d) == (1, 0):
                made += Terms({(0, 0, total + 1, t): value})
            elif (e, d) == (1, 1):
                made += Terms({(0, 0, total, t + 1): value})
            else:
                raise Other
        return made

    @property
    def is_hidden(self) -> bool:
        """Is it zero where a mask hides a key?"""
        return all(e > 0 for e, _, _, _ in self.parts)

    def factor_of(self, other: Terms) -> float | None:
        """By what the other is multiplied to be this; None if it is something else."""
        if not self.parts or self.parts.keys() != other.parts.keys():
            return None
        factors = [self.parts[powers] / other.parts[powers] for powers in self.parts]
        if max(abs(each - factors[0]) for each in factors) > NEAR * abs(factors[0]):
            return None
        return factors[0]


def _added(one: Powers, two: Powers) -> Powers:
    e, d, total, t = (a + b for a, b in zip(one, two, strict=True))
    return e, d, total, t


E = Terms({(1, 0, 0, 0): 1.0})
D = Terms({(0, 1, 0, 0): 1.0})
L = Terms({(0, 0, 1, 0): 1.0})

WEIGHTS = Terms({(1, 0, -1, 0): 1.0})

GRADIENT = Terms({(1, 1, -1, 0): 1.0, (1, 0, -2, 1): -1.0})
"""Of what is exponentiated."""
