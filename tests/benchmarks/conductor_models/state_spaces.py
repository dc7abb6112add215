"""State space models: mamba-jax, mamba-minimal-jax and annotated-s4."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tests.benchmarks.conductor_models.load import load
from tests.conductor.corpus.case import Case, normal

LENGTH, FEATURES, STATES = 64, 8, 4


def mamba(repositories: Path) -> list[Case]:
    """vvvm23/mamba-jax, commit 3c50f6e: `kernels/reference.py`, as a scan and associatively."""
    path = repositories / "mamba-jax" / "mamba_jax" / "kernels" / "reference.py"
    module = load(path, "mamba_jax_reference")
    arrays = (
        normal(LENGTH, FEATURES),
        normal(LENGTH, FEATURES, seed=1),
        -np.exp(normal(FEATURES, STATES, seed=2, scale=0.3)),
        normal(LENGTH, STATES, seed=3),
        normal(LENGTH, STATES, seed=4),
        normal(FEATURES, seed=5),
    )
    return [
        Case(
            f"mamba-jax, {'associative' if associative else 'scan'}",
            functools.partial(module.mamba_ssm, delta_softplus=True, associative_scan=associative),
            lambda: arrays,
            moving=(0, 1, 2, 3, 4, 5),
        )
        for associative in (False, True)
    ]


def mamba_minimal(repositories: Path) -> list[Case]:
    """radarFudan/mamba-minimal-jax, commit b763344: one layer, unrolled over 16 tokens."""
    path = repositories / "mamba-minimal-jax" / "model.py"
    module = load(path, "mamba_minimal_jax_model", ["torch", "pytorch_to_jax"])
    arguments = module.ModelArgs(d_model=8, n_layer=1, vocab_size=16, d_state=4)
    layer = module.MambaBlock(arguments)
    x = normal(1, 16, 8)
    parameters = layer.init(jax.random.PRNGKey(0), x)
    return [Case("mamba-minimal-jax", layer.apply, lambda: (parameters, x), moving=(0, 1))]


def s4(repositories: Path) -> list[Case]:
    """srush/annotated-s4, commit f19e246: both views of a layer, and S4's own kernel."""
    module = load(repositories / "annotated-s4" / "s4" / "s4.py", "annotated_s4")
    u = normal(LENGTH, FEATURES)
    cases = []
    for name in ("SSMLayer", "S4Layer"):
        layer = getattr(module, name)(N=STATES, l_max=LENGTH)
        variables = layer.init(jax.random.PRNGKey(0), u)
        parameters = {"params": variables["params"]}
        rest = {key: value for key, value in variables.items() if key != "params"}

        def apply(p: Any, u: Any, layer: Any = layer, rest: Any = rest) -> Any:
            return layer.apply({**p, **rest}, u)

        given = functools.partial(lambda p: (p, u), parameters)
        cases.append(Case(f"annotated-s4, {name}", apply, given, moving=(0, 1)))
    matrices = module.discretize(*module.random_SSM(jax.random.PRNGKey(0), STATES), 0.1)

    def recurrent(matrices: Any, u: Any) -> Any:
        return module.scan_SSM(*matrices, u, np.zeros(STATES, u.dtype))[1]

    line = normal(LENGTH, 1)
    recurrence = Case(
        "annotated-s4, recurrence", recurrent, lambda: (matrices, line), moving=(0, 1)
    )
    return [*cases, recurrence]
