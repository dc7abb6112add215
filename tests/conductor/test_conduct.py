"""A conducted function has the values, derivatives and batches of the original, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import conduct, off, opaque
from orchestrator_core.conductor.ir.read import read


def model(x: jax.Array, w: jax.Array) -> jax.Array:
    """A loop, a custom rule, a checkpoint, and a branch."""

    def body(carry: jax.Array, add: jax.Array) -> tuple[jax.Array, jax.Array]:
        carry = jnp.tanh(carry @ w + add)
        return carry, carry.sum()

    last, sums = jax.lax.scan(body, x, jnp.ones((5, 4)))
    y = jax.checkpoint(lambda z: jnp.sin(jnp.sin(z)))(jax.nn.relu(last))
    y = jax.lax.cond(y.sum() > 0, lambda y: y, lambda y: 2 * y, y)
    return y.sum() + sums.sum()


@pytest.fixture(scope="module")
def given() -> tuple[jax.Array, jax.Array]:
    random = np.random.default_rng(0)
    return jnp.asarray(random.normal(size=4), "float32"), jnp.asarray(
        random.normal(size=(4, 4)), "float32"
    )


def equal(a: Any, b: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, a, b)


def close(a: Any, b: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6), a, b)


def gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.value_and_grad(function, argnums=(0, 1))


def test_what_nothing_is_found_in_is_bitwise_the_same(given) -> None:
    equal(jax.jit(model)(*given), conduct(model, allow=())(*given))
    equal(jax.jit(model)(*given), jax.jit(conduct(model, allow=()))(*given))
    equal(jax.jit(gradients(model))(*given), conduct(gradients(model), allow=())(*given))


@pytest.mark.parametrize(
    "transform",
    [gradients, lambda f: jax.jit(gradients(f)), jax.hessian, jax.jacfwd, jax.jacrev],
    ids=["grad", "jit-grad", "hessian", "jacfwd", "jacrev"],
)
def test_derivatives_are_those_of_the_original(given, transform: Callable[..., Any]) -> None:
    close(transform(model)(*given), transform(conduct(model))(*given))


def test_tangents_are_pushed_forward(given) -> None:
    close(jax.jvp(model, given, given), jax.jvp(conduct(model), given, given))


def test_batches_inside_and_outside(given) -> None:
    x, w = given
    several = jnp.stack([x, x + 1, x - 1])
    for made in (model, gradients(model)):
        expected = jax.vmap(made, (0, None))(several, w)
        close(expected, jax.vmap(conduct(made), (0, None))(several, w))
        close(expected, conduct(jax.vmap(made, (0, None)))(several, w))
    close(
        jax.vmap(gradients(model), (0, None))(several, w),
        jax.vmap(gradients(conduct(model)), (0, None))(several, w),
    )


def test_derivatives_reach_what_a_function_has_closed_over(given) -> None:
    x, w = given
    expected = jax.grad(lambda w: model(x, w))(w)
    close(expected, jax.grad(lambda w: conduct(lambda x: model(x, w))(x))(w))
    close(expected, jax.jit(jax.grad(lambda w: conduct(lambda x: model(x, w))(x)))(w))


def test_a_custom_rule_is_kept_even_if_it_is_wrong() -> None:
    @jax.custom_vjp
    def double(x: jax.Array) -> jax.Array:
        return 2 * x

    double.defvjp(lambda x: (2 * x, x), lambda x, g: (7 * g,))
    assert jax.grad(conduct(double))(1.0) == 7.0
    assert conduct(jax.grad(double))(1.0) == 7.0


def test_integers_beside_numbers(given) -> None:
    def pick(x: jax.Array, which: jax.Array) -> tuple[jax.Array, jax.Array]:
        return (x * x)[which], which + 1

    grad = jax.grad(lambda x, k: conduct(pick)(x, k)[0])(given[0], jnp.asarray(2))
    equal(grad, jax.grad(lambda x, k: pick(x, k)[0])(given[0], jnp.asarray(2)))


def test_any_tree_and_any_argument_that_is_no_array(given) -> None:
    def function(tree: dict[str, Any], *, scale: int, how: str) -> dict[str, Any]:
        assert how == "doubled"
        return {"out": [2 * scale * tree["x"], None], "count": jnp.arange(3)}

    made = conduct(function)({"x": given[0]}, scale=2, how="doubled")
    equal(made["out"][0], 4 * given[0])
    assert made["out"][1] is None


def test_what_cannot_be_traced_runs_as_it_is(given) -> None:
    def branches(x: jax.Array) -> jax.Array:
        return x if x.sum() > 0 else -x

    equal(conduct(branches)(given[0]), branches(given[0]))
    assert conduct(len)([1, 2]) == 2


def test_side_effects_happen_in_order(given) -> None:
    told: list[int] = []

    def tells(x: jax.Array) -> jax.Array:
        for k in range(3):
            jax.debug.callback(lambda _, k=k: told.append(k), x, ordered=True)
        return x + 1

    conduct(tells)(given[0]).block_until_ready()
    jax.effects_barrier()
    assert told == [0, 1, 2]


def test_what_has_side_effects_is_compiled_as_it_was(given) -> None:
    """Python sees it once; op by op it took fifty times as long."""
    traced: list[jax.Array] = []
    told: list[float] = []

    def tells(x: jax.Array) -> jax.Array:
        traced.append(x)
        jax.debug.callback(lambda first: told.append(float(first)), x.ravel()[0], ordered=True)
        return 2 * x

    conducted, x = conduct(tells, check="probe"), given[0]
    for k in range(3):
        equal(conducted(x + k), 2 * (x + k))
    jax.effects_barrier()
    assert told == [float(x.ravel()[0] + k) for k in range(3)]
    assert len(traced) == 1
    assert "DebugEffect" in str(conducted.explain())
    close(jax.grad(lambda x: conducted(x).sum())(x), 2 * jnp.ones_like(x))


def test_what_writes_elsewhere_runs_as_it_was(given) -> None:
    kept = jax.new_ref(jnp.zeros_like(given[0]))

    def writes(x: jax.Array) -> jax.Array:
        kept[...] = x
        return 2 * x

    equal(conduct(writes)(given[0]), 2 * given[0])
    equal(kept[...], given[0])


def test_what_nobody_needs_is_dropped_from_loops(given) -> None:
    """As ``jax.jit`` does it: a path by its steps backwards, of which only the score is asked for,
    took fifteen times as long."""

    def best_path(steps: jax.Array, pairs: jax.Array) -> tuple[jax.Array, jax.Array]:
        def forward(score: jax.Array, step: jax.Array) -> tuple[jax.Array, jax.Array]:
            all_ = score[:, None] + pairs
            return all_.max(0) + step, all_.argmax(0)

        score, back = jax.lax.scan(forward, steps[0], steps[1:])
        path = jax.lax.scan(lambda k, at: (at[k], k), score.argmax(), back, reverse=True)[1]
        return score.max(), path

    def score(steps: jax.Array, pairs: jax.Array) -> jax.Array:
        return best_path(steps, pairs)[0]

    arrays = jnp.sin(jnp.arange(60.0).reshape(12, 5)), jnp.cos(jnp.arange(25.0).reshape(5, 5))
    for function in (score, jax.grad(score), best_path):
        plain, conducted = jax.jit(function), conduct(function)
        jax.tree.map(equal, conducted(*arrays), plain(*arrays))
        texts = [each.lower(*arrays).as_text() for each in (plain, conducted)]
        assert len({text.count("stablehlo.while") for text in texts}) == 1


def test_off_and_opaque(given) -> None:
    x = given[0]
    with off():
        equal(conduct(lambda x: x + 1)(x), x + 1)
    hidden = opaque(jnp.tanh)
    graph = read(jax.make_jaxpr(lambda x: hidden(x) * 2)(x))
    assert [node.name for node in graph.nodes] == ["jit", "mul"]
    close(jax.grad(lambda x: conduct(hidden)(x).sum())(x), 1 - jnp.tanh(x) ** 2)


def test_opaque_takes_what_is_no_array(given) -> None:
    traced = []

    @opaque
    def scaled(x, mode, *, by=2.0):
        traced.append(mode)
        return x * by if mode == "up" else x / by

    x = given[0]
    for mode, by in (("up", 2.0), ("up", 4.0), ("down", 4.0)):
        close(
            conduct(lambda x, mode=mode, by=by: scaled(x, mode, by=by))(x),
            x * by if mode == "up" else x / by,
        )
    scaled(x, "up", by=3.0)
    count = len(traced)
    close(scaled(x, "up", by=5.0), x * 5)
    assert len(traced) == count
