"""Whether a function with kernels can be compiled is found out without a GPU, too."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.kernels.lowering import raced, refusal

AVAL = _jax.ShapedArray((8, 8), np.dtype("float32"))


def test_why_a_function_cannot_be_compiled_for_a_gpu() -> None:
    assert refusal(jnp.sin, [AVAL], is_interpreted=False) == ""
    said = refusal(lambda x: x.reshape(3), [AVAL], is_interpreted=False)
    assert "TypeError" in said


def test_of_several_why_each_cannot_be_compiled() -> None:
    (good, _), (bad, _) = raced([(jnp.sin, [AVAL]), (lambda x: x.reshape(3), [AVAL])])
    assert good == ""
    assert "TypeError" in bad
