"""Random loops: some steps are recurrences that have other forms, most are nearly such.

A loop is a list of operations on what it carries and on what each step is given. The same seed
makes the same loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Operation: TypeAlias = Callable[[Any, Any, Any], Any]
"""Of a carry, of this or another carry, and of what the step is given."""


def _log_sum(c: Any, x: Any) -> Any:
    """As people write it who know of overflow, but not of nothing and nothing."""
    top = jnp.maximum(c, x)
    return top + jnp.log(jnp.exp(c - top) + jnp.exp(x - top))


OPERATIONS: Mapping[str, Operation] = {
    "add": lambda c, d, x: c + x,
    "subtract": lambda c, d, x: c - x,
    "subtract from": lambda c, d, x: x - c,
    "scale": lambda c, d, x: 0.5 * c,
    "decay": lambda c, d, x: c * jax.nn.sigmoid(x),
    "negative": lambda c, d, x: -c,
    "divide": lambda c, d, x: c / (1 + x * x),
    "mix": lambda c, d, x: c + 0.25 * d,
    "swap": lambda c, d, x: d,
    "forget": lambda c, d, x: 0 * c,
    "begin anew": lambda c, d, x: jnp.where(x > 1.2, 0, c),
    "choose": lambda c, d, x: jnp.where(x > 0, c, d),
    "choose by carry": lambda c, d, x: jnp.where(c > 0, c, d),
    "largest": lambda c, d, x: jnp.maximum(c, x),
    "smallest": lambda c, d, x: jnp.minimum(c, x),
    "larger carry": lambda c, d, x: jnp.maximum(c, d),
    "logaddexp": lambda c, d, x: jnp.logaddexp(c, x),
    "logaddexp of carries": lambda c, d, x: jnp.logaddexp(c, d),
    "log of sum": lambda c, d, x: _log_sum(c, x),
    "begin anew at NaN": lambda c, d, x: jnp.where(jnp.isnan(c - d), x, c),
    "absolute": lambda c, d, x: jnp.abs(c),
    "clip": lambda c, d, x: jnp.clip(c, -3, 3),
    "squash": lambda c, d, x: jnp.tanh(c),
    "roll": lambda c, d, x: jnp.roll(c, 1),
    "running sum": lambda c, d, x: 0.3 * jnp.cumsum(c),
    "share": lambda c, d, x: 0.5 * c + c.mean(),
    "normalise": lambda c, d, x: c - c.max(),
    "weigh": lambda c, d, x: c * jax.nn.softmax(x),
    "stop": lambda c, d, x: lax.stop_gradient(c) + x,
    "checkpoint": lambda c, d, x: jax.checkpoint(lambda c, x: 0.5 * c + jnp.sin(x))(c, x),
}


@dataclass(frozen=True)
class Loop:
    """Attributes:
    length: steps; from 64 on, other forms than a loop are looked at. width: elements of a carry.
    """

    seed: int
    length: int = 67
    width: int = 3

    def arguments(self, special: float | None = None) -> list[Any]:
        """xs[steps, width], ys[steps, width] and the start; some numbers are special ones."""
        random = np.random.default_rng(self.seed)
        shapes = [(self.length, self.width)] * 2 + [(self.width,)]
        made = [np.round(random.normal(size=s) * 16).astype(np.float32) / 16 for s in shapes]
        if special is not None:
            for each in made:
                each[random.random(each.shape) < 0.1] = special
        return [jnp.asarray(each) for each in made]

    def __call__(self, xs: Any, ys: Any, start: Any) -> Any:
        random = np.random.default_rng(self.seed + 10**6)
        count = int(random.integers(1, 4))
        steps = self.steps(random, count)
        starts = [start, jnp.zeros_like(start), jnp.full_like(start, -jnp.inf)]
        first = [starts[int(random.choice(3, p=[0.5, 0.35, 0.15]))] for _ in range(count)]

        def step(carries: Sequence[Any], given: Any) -> Any:
            made = list(carries)
            for name, at, other, which in steps:
                made[at] = OPERATIONS[name](made[at], made[other], given[which])
            return tuple(made), (made[0], carries[-1])

        return lax.scan(step, tuple(first), (xs, ys), reverse=bool(random.integers(2)))

    @property
    def words(self) -> str:
        random = np.random.default_rng(self.seed + 10**6)
        count = int(random.integers(1, 4))
        return "; ".join(f"{name} {places}" for name, *places in self.steps(random, count))

    def steps(self, random: np.random.Generator, count: int) -> list[tuple[str, int, int, int]]:
        """The operations: of which carry, with which other, and with which input."""
        names = random.choice(list(OPERATIONS), int(random.integers(1, 6)))
        sides = (count, count, 2)
        return [(str(name), *(int(random.integers(n)) for n in sides)) for name in names]  # type: ignore[misc]

    def loss(self, xs: Any, ys: Any, start: Any) -> Any:
        """A number of all results."""
        return sum(jnp.sum(jnp.tanh(0.1 * each)) for each in jax.tree.leaves(self(xs, ys, start)))
