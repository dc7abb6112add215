"""What is handed to cuDNN, and what is done where it would be wrong."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels.cudnn import dispatch
from orchestrator_core.conductor.kernels.cudnn.dispatch import in_kernels, programs_of
from orchestrator_core.conductor.kernels.cudnn.suited import unsuited
from orchestrator_core.conductor.site import AS_IT_IS
from orchestrator_core.conductor.tile.settings import TileSettings
from tests.conductor.kernels.interpreting import assert_near
from tests.conductor.kernels.spelled import (
    D,
    Function,
    S,
    arrays,
    causal,
    found,
    of,
    two_layers,
    with_gradients,
    written_out,
)


def test_what_cudnn_does_not_take() -> None:
    def reason(function: Function, *shape: int, dtype: str = "bfloat16") -> str:
        graph, (attention,) = found(function, arrays(*shape, dtype=dtype))
        return unsuited(graph, attention)

    def in_more_digits(q: Any, k: Any, v: Any) -> Any:
        return of(causal)(q, k, v.astype("float32"))

    assert reason(of(causal), 2, 2, S, D) == ""
    assert reason(lambda *a: in_more_digits(*a).astype("bfloat16"), 2, 2, S, D) == ""
    assert "more digits" in reason(in_more_digits, 2, 2, S, D)
    assert "float32" in reason(of(causal), 2, 2, S, D, dtype="float32")
    assert "multiples of 8" in reason(of(causal), 2, 2, S, D + 1)


class Gpu:
    """One that is not there, on which cuDNN takes so many seconds, and XLA one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.compiled = self.timed = 0
        self.seconds = seconds
        monkeypatch.setattr(dispatch, "has_gpu", lambda: True)
        monkeypatch.setattr(dispatch, "refusal", self.refusal)
        monkeypatch.setattr(dispatch, "trial", self.trial)

    def refusal(self, function: Any, avals: Any, *, is_interpreted: bool) -> str:
        self.compiled += 1
        return ""

    def trial(self, before: Graph, after: Graph) -> tuple[float, float]:
        self.timed += 1
        return 1.0, self.seconds


def test_of_layers_that_look_the_same_one_is_compiled_and_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = Gpu(monkeypatch, 0.5)
    graph, _ = found(two_layers, arrays(2, 3, S, D, dtype="bfloat16"))
    made, sites = in_kernels(graph, Goal(), TileSettings())
    assert [site.chosen for site in sites] == ["cuDNN", "cuDNN"]
    assert [site.measured for site in sites] == [(1.0, 0.5)] * 2
    assert sum(node.name == "cudnn_attention" for node in made.nodes) == 2
    assert (gpu.compiled, gpu.timed) == (1, 1)


def test_what_takes_longer_when_it_is_timed_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = Gpu(monkeypatch, 1.1)
    graph, _ = found(of(causal), arrays(2, 3, S, D, dtype="bfloat16"))
    made, (site,) = in_kernels(graph, Goal(), TileSettings())
    assert made is graph
    assert site.chosen == AS_IT_IS
    assert site.reason == "measured: it would take 1.1 s, as it is 1 s"
    _, (site,) = in_kernels(graph, Goal(objective="memory"), TileSettings())
    assert site.is_changed
    assert gpu.timed == 1


def test_weights_that_are_returned_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    Gpu(monkeypatch, 0.5)

    def both(q: Any, k: Any, v: Any) -> Any:
        weights = jax.nn.softmax(causal(q @ k.mT))
        return weights @ v, weights

    graph, _ = found(both, arrays(2, 3, S, D, dtype="bfloat16"))
    made, (site,) = in_kernels(graph, Goal(), TileSettings())
    assert made is graph
    assert site.reason == "its weights are needed elsewhere"


def test_of_layers_that_look_the_same_one_may_return_its_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whichever of them that is, the other is handed over, and it alone."""
    Gpu(monkeypatch, 0.5)

    def layers(which: int, q: Any, k: Any, v: Any) -> Any:
        first = jax.nn.softmax(causal(q @ k.mT))
        second = jax.nn.softmax(causal((first @ v) @ k.mT))
        return second @ v, (first, second)[which]

    for which in (0, 1):
        given = arrays(2, 3, S, D, dtype="bfloat16")
        graph, _ = found(partial(layers, which), given)
        _, sites = in_kernels(graph, Goal(), TileSettings())
        assert [site.is_changed for site in sites] == [which == 1, which == 0]


def test_without_a_gpu_nothing_happens() -> None:
    graph, _ = found(of(causal), arrays(2, 3, S, D, dtype="bfloat16"))
    assert in_kernels(graph, Goal(), TileSettings()) == (graph, [])


@pytest.mark.parametrize(("largest", "is_kept"), [(1.0, True), (3e4, False)])
def test_scores_as_low_as_what_a_mask_sets(
    largest: float, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all scores of a query are below what the mask sets, it sees what the mask hides."""
    given = arrays(2, 3, S, D)
    given[0], given[1] = -largest * jnp.abs(given[0]), largest * jnp.abs(given[1])
    function = with_gradients(of(lambda s: causal(s, -1e9)))
    graph, (attention,) = found(function, given)
    for program in programs_of(graph, attention):
        monkeypatch.setattr(type(program), "_attend", lambda self, *a: written_out(attention)(*a))
        taken = [jnp.ones(value.shape, value.dtype) for value in program.before.inputs]
        taken[:3] = given
        exact = program.as_it_was(*taken)
        made, _ = program.by(written_out(attention), taken)
        is_near = all(np.allclose(a, b, atol=1e-4) for a, b in zip(made, exact, strict=True))
        assert is_near == is_kept
        assert_near(program.by_cudnn(*taken), exact, 5e-6)
