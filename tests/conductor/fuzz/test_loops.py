"""Random loops make what they made, in whatever form they run."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from orchestrator_core.conductor import Conducted, Goal
from tests.conductor.corpus.examine import x64
from tests.conductor.corpus.judge import judged
from tests.conductor.fuzz.loops import Loop

EVERYTHING = Goal(always=True)


def check(loop: Loop, function: Any, special: float | None) -> None:
    arguments = loop.arguments(special)
    theirs = jax.jit(function)(*arguments)
    ours = Conducted(function, EVERYTHING)(*arguments)

    def exact() -> Any:
        with x64():
            return jax.jit(function)(*[np.asarray(each, float) for each in arguments])

    verdict = judged(ours, theirs, exact)
    assert verdict.is_right, f"{verdict.why}: {loop.words}"


@pytest.mark.parametrize("special", [None, -np.inf])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 90])
def test_a_random_loop(seed: int, special: float | None) -> None:
    loop = Loop(seed)
    check(loop, loop, special)


@pytest.mark.slow
@pytest.mark.parametrize("special", [None, -np.inf, np.nan])
@pytest.mark.parametrize("seed", range(40))
def test_many_random_loops(seed: int, special: float | None) -> None:
    loop = Loop(seed)
    check(loop, loop, special)
    if special is None:
        check(loop, jax.grad(loop.loss, argnums=(0, 1, 2)), special)
