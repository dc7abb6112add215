"""Where kernels are used, and where not, and why."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.kernels.rewrite import kernels
from tests.conductor.kernels.interpreting import (
    H200,
    assert_near,
    for_gpu,
    graph_of,
    kernels_of,
    lowered_for_gpu,
    run,
)


def attention(q: Any, k: Any, v: Any) -> Any:
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]
    s = jnp.where(i >= j, jnp.einsum("hid,hjd->hij", q, k), -jnp.inf)
    return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s), v)


def abstract(heads: int, length: int, d: int = 128) -> list[Any]:
    make: Any = jax.ShapeDtypeStruct
    return [make((heads, length, d), "bfloat16")] * 3


def test_on_a_cpu_nothing_changes_and_a_site_says_why() -> None:
    loop = graph_of(
        lambda x: jax.lax.cumsum(x) + jax.lax.scan(_add, x[0], x)[0], [jnp.ones((9, 4))]
    )
    after, sites = kernels(loop, Goal())
    assert after is loop
    assert [site.reason for site in sites] == ["no GPU: kernels are not used"]


def _add(carry: Any, x: Any) -> Any:
    return carry + x, None


def test_long_attention_is_a_kernel_on_a_gpu_and_nothing_pairwise_is_kept() -> None:
    arrays = abstract(16, 4096)
    with on_device(H200):
        graph, sites = kernels(graph_of(attention, arrays), Goal())
    (site,) = (site for site in sites if site.is_changed)
    assert site.before is not None
    assert site.after is not None
    assert site.after.seconds < site.before.seconds
    assert "4096x4096" not in lowered_for_gpu(graph, arrays)


def test_what_is_small_is_left_to_xla() -> None:
    with on_device(H200):
        graph, _ = kernels(graph_of(attention, abstract(2, 256, 32)), Goal())
    assert not kernels_of(graph)


def test_a_kernel_that_is_run_on_another_device_is_a_loop_over_tiles() -> None:
    """Programs are planned for a device, and may be compiled for another one."""
    r = np.random.default_rng(0)
    arrays = [jnp.asarray(r.normal(size=(2, 80, 16)), "float32") for _ in range(3)]
    made, _ = for_gpu(graph_of(attention, arrays))
    assert kernels_of(made)
    assert_near(run(made, arrays), [attention(*arrays)], 5e-6)


def test_what_no_kernel_can_do_is_refused_with_a_reason() -> None:
    """Triton knows no Bessel functions."""

    def function(q: Any, k: Any) -> Any:
        return jnp.sum(jax.scipy.special.i0e(q @ k.T), 1)

    r = np.random.default_rng(0)
    arrays = [jnp.asarray(r.normal(size=(80, 16)), "float32") for _ in range(2)]
    graph, sites = for_gpu(graph_of(function, arrays))
    assert not kernels_of(graph)
    assert any("bessel_i0e" in site.reason for site in sites)
    assert not any("Refused" in site.reason for site in sites), "a name that says nothing"
