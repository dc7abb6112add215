"""A case is compared with what is written as well, where XLA leaves something of it out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from orchestrator_core.conductor import Goal
from tests.conductor.corpus.case import Case, normal
from tests.conductor.corpus.examine import examined

N = 70


def given() -> tuple[np.ndarray, ...]:
    return normal(N, 4), normal(N, 4, seed=1), normal(N, 4, seed=2)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_scores_that_go_through_a_narrow_type_may_be_rounded_as_written(dtype: type) -> None:
    """Compiled as a whole, XLA leaves out the conversion there and back."""

    def function(q: Array, k: Array, v: Array) -> Array:
        return jax.nn.softmax((q @ k.T).astype(dtype).astype(q.dtype)) @ v

    outcome = examined(Case("narrow", function, given), "forward", Goal(always=True))
    assert outcome.verdict.is_right, outcome.verdict.why
