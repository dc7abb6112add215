"""How a conducted function behaves as an object: decorated, bound, copied, shared, switched off."""

from __future__ import annotations

import asyncio
import copy
import functools
import pickle
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import Conducted, conduct, off
from orchestrator_core.conductor import traces as module
from tests.conductor.toys import exponentials, install

X = jnp.arange(4.0)


@conduct(deny="loops")
def decorated(x: jax.Array, how: str = "twice") -> jax.Array:
    """Doubles."""
    assert how == "twice"
    return 2 * x


def plainly(x: jax.Array) -> jax.Array:
    return 3 * x


class Layer:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @conduct
    def scaled(self, x: jax.Array) -> jax.Array:
        return self.scale * x


def equal(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(a, b)


def test_a_decorator_with_and_without_arguments() -> None:
    equal(decorated(X), 2 * X)
    assert decorated.__name__ == "decorated"
    assert decorated.__doc__ == "Doubles."
    assert decorated.goal.deny == frozenset({"loops"})
    equal(conduct(objective="memory")(jnp.sin)(X), jnp.sin(X))


def test_methods_are_bound() -> None:
    for scale in (2.0, 3.0):
        layer = Layer(scale)
        equal(layer.scaled(X), scale * X)
        equal(conduct(layer.scaled)(X), scale * X)
        assert layer.scaled.explain(X).reason == ""
        assert layer.scaled.explain().reason == ""
        equal(layer.scaled.lower(X).compile()(X)[0], scale * X)
        assert layer.scaled.goal.objective == "time"
    assert isinstance(Layer.scaled, Conducted)


def test_it_is_pickled_by_name_or_by_what_it_was_made_of() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert copy.deepcopy(decorated) is decorated
    made = conduct(plainly, objective="memory")
    equal(made(X), 3 * X)
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert again is not made
        assert again.goal == made.goal
        equal(again(X), 3 * X)


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="of type int"):
        conduct(3)  # type: ignore[call-overload]


def test_conducting_twice_is_conducting_once() -> None:
    assert conduct(decorated, objective="memory").original is decorated.original


def total(x: jax.Array) -> jax.Array:
    return (x**2).sum()


@pytest.mark.parametrize(
    ("transformed", "expected"),
    [
        (jax.grad, 2 * X),
        (jax.jacfwd, 2 * X),
        (jax.hessian, 2 * np.eye(4)),
        (jax.vmap, X**2),
        (jax.jit, 14.0),
        (jax.checkpoint, 14.0),
        (lambda f: jax.jit(jax.grad(f)), 2 * X),
        (lambda f: functools.wraps(f)(lambda x: f(x) + 100), 114.0),
        (functools.partial, 14.0),
    ],
)
def test_what_is_made_of_a_conducted_function_is_conducted_as_that(
    transformed: Any, expected: Any
) -> None:
    """JAX's transformations copy the attributes of a function, and so do those of others."""
    equal(conduct(transformed(conduct(total)))(X), expected)


class Policy:
    """Something that can be called and has attributes as `Conducted` has them."""

    def __init__(self) -> None:
        self.goal, self.original, self.lower, self.plan = X, abs, -1, "none"
        self.tag = "policy"

    def __call__(self, x: jax.Array) -> jax.Array:
        return (x - self.goal).sum()


def test_attributes_are_there_but_for_those_of_a_conducted_function() -> None:
    policy = conduct(Policy())
    equal(policy(jnp.zeros(4)), -6.0)
    assert policy.tag == "policy"  # type: ignore[attr-defined]
    assert policy.goal.objective == "time"
    assert policy.explain(X).reason == ""
    equal(policy.lower(X).compile()(X), 0.0)
    wrapped = functools.wraps(plainly)(lambda x: total(x))
    assert conduct(wrapped).__wrapped__ is wrapped  # type: ignore[attr-defined]


def test_a_conducted_function_in_another_is_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tiling=exponentials)
    inner = conduct(lambda x: jnp.exp(x))
    other = conduct(lambda x: jnp.exp(x), objective="memory")
    assert len(conduct(lambda x: inner(x) + 1).explain(X).sections[0].sites) == 1
    assert conduct(lambda x: other(x) + 1).explain(X).sections[0].sites == ()


def test_flags_and_sizes_are_constants_where_they_must_be() -> None:
    def function(x: jax.Array, times: int, double: bool = False) -> jax.Array:
        y = 2 * x if double else x
        return jnp.broadcast_to(y, (times, *x.shape))

    made = conduct(function)
    for times in (2, 3):
        for double in (False, True):
            equal(made(X, times, double=double), function(X, times, double))
    assert made.explain(X, 2).reason == ""


def test_numbers_that_change_from_call_to_call_are_not_compiled_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_CONSTANTS", 2)
    traces = []

    def function(x: jax.Array, times: int) -> jax.Array:
        traces.append(times)
        return jnp.zeros((times,)) + x[0]

    made = conduct(function)
    for times in range(1, 8):
        assert made(X, times).shape == (times,)
    assert "change from call to call" in made.explain().reason
    # Once as if the number were an array, then for each number once: traced, or as it is.
    assert traces[1:] == list(range(1, 8))


def test_zeros_with_a_sign_are_different_constants() -> None:
    def function(x: jax.Array, y: float) -> jax.Array:
        return x * float(np.copysign(1.0, y))

    made = conduct(function)
    equal(made(X, 0.0), X)
    equal(made(X, -0.0), -X)
    equal(made(X, True), X)
    equal(made(X, 1), X)


def test_results_that_are_no_arrays_stay_what_they_are() -> None:
    made = conduct(lambda x: {"y": 2 * x, "shape": x.shape, "name": "y", "none": None})(X)
    equal(made.pop("y"), 2 * X)
    assert made == {"shape": (4,), "name": "y", "none": None}
    assert type(made["shape"][0]) is int


def test_what_is_awaited_runs_as_it_was(recwarn: pytest.WarningsRecorder) -> None:
    async def later(x: jax.Array) -> jax.Array:
        return 2 * x

    conducted = conduct(later)
    equal(asyncio.run(conducted(X)), 2 * X)
    assert "awaited" in conducted.explain(X).reason
    assert not recwarn.list


def test_weak_types_stay_weak() -> None:
    half = jnp.ones(3, "bfloat16")
    made = conduct(lambda x, y: x * y)
    assert made(half, 2.0).dtype == "bfloat16"
    assert made(half, jnp.float32(2)).dtype == "float32"
    assert jax.typeof(conduct(lambda x: x + 1)(1.0)).weak_type


def test_64_bits_are_switched_between_calls() -> None:
    made = conduct(lambda x: x / 3)
    assert made(1).dtype == "float32"
    with jax.enable_x64(True):
        assert made(1).dtype == "float64"
        equal(made(np.float64(1)), np.float64(1) / 3)
    assert made(1).dtype == "float32"


def test_the_precision_of_products_is_that_of_the_call() -> None:
    made = conduct(lambda x: x @ x)
    x = jnp.ones((4, 4))
    made(x)
    with jax.default_matmul_precision("highest"):
        assert "HIGHEST" in made.lower(x).as_text()
    assert "HIGHEST" not in made.lower(x).as_text()


def test_donated_arguments_stay_donated() -> None:
    step = jax.jit(lambda s, x: (s + jnp.exp(x), x), donate_argnums=0)
    made = conduct(step)
    state = jnp.ones(4)
    equal(made(state, X)[0], 1 + jnp.exp(X))
    assert state.is_deleted()
    assert not X.is_deleted()
    shapes = [jax.ShapeDtypeStruct((4,), "float32")] * 2
    assert made.lower(*shapes).compile().memory_analysis().alias_size_in_bytes == 16


def test_calls_that_donate_are_soon_left_to_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    step = jax.jit(lambda s, x: (s["a"] + x, s["b"] * x), donate_argnums=0)
    made = conduct(step)

    def given() -> dict[str, jax.Array]:
        return {"a": jnp.ones(4), "b": jnp.full(4, 3.0)}

    made(given(), X)
    made(given(), X)
    monkeypatch.setattr(made, "traced", None)  # nothing of ours is asked any more
    state = given()
    first, second = made(state, X)
    equal(first, 1 + X)
    equal(second, 3 * X)
    assert state["a"].is_deleted()
    assert state["b"].is_deleted()
    assert not X.is_deleted()


def test_calls_with_words_are_soon_left_to_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    made = conduct(lambda x, how, *, sign="+": (jnp.sin if how == "sin" else jnp.cos)(x))
    for how in ("sin", "cos", "sin"):
        equal(made(X, how, sign="-"), getattr(jnp, how)(X))
    monkeypatch.setattr(made, "traced", None)  # nothing of ours is asked any more
    equal(made(X, "sin", sign="-"), jnp.sin(X))
    equal(made(X, "cos", sign="-"), jnp.cos(X))


def test_after_a_wrong_call_right_ones_are_still_left_to_jax(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = conduct(lambda x, y: x @ y)
    for _ in range(2):
        equal(made(jnp.eye(2), jnp.eye(2)), jnp.eye(2))
    with pytest.raises(TypeError, match="dot_general requires contracting dimensions"):
        made(jnp.eye(2), jnp.eye(3))
    monkeypatch.setattr(made, "traced", None)  # nothing of ours is asked any more
    equal(made(jnp.eye(2), jnp.eye(2)), jnp.eye(2))


def test_an_argument_that_is_now_a_word_and_now_none() -> None:
    made = conduct(lambda x, how: x if how is None else x + len(how))
    for how in ("ab", None, "abc", None, "ab"):
        equal(made(X, how), X + len(how or ""))
    equal(conduct(lambda x, how="ab": x + len(how))(X, how="abc"), X + 3)


def test_of_an_argument_that_is_donated_in_part_the_rest_stays() -> None:
    step = jax.jit(lambda a, b, x: (a + x, b * x), donate_argnums=0)
    made = conduct(lambda s, x: step(s["a"], s["b"], x))
    for _ in range(2):
        state = {"a": jnp.ones(4), "b": jnp.ones(4)}
        equal(made(state, X)[0], 1 + X)
        assert state["a"].is_deleted()
        assert not state["b"].is_deleted()


def test_axes_of_length_zero() -> None:
    empty = jnp.zeros((0, 3))
    equal(conduct(lambda x: x.sum(0))(empty), jnp.zeros(3))
    assert conduct(jax.grad(lambda x: jnp.exp(x @ x.T).sum()))(empty).shape == (0, 3)


@pytest.mark.parametrize("objective", ["time", "memory"])
@pytest.mark.parametrize("features", [(4, 0), (0, 3)])
def test_attention_without_features(features: tuple[int, int], objective: str) -> None:
    """There is nothing of which tiles could have bounds."""

    def attention(q: Any, k: Any, v: Any) -> Any:
        causal = jnp.tril(jnp.ones((len(q), len(k)), bool))
        return jax.nn.softmax(jnp.where(causal, q @ k.T, -1e9)) @ v

    arrays = [jnp.ones((1024, features[k])) for k in (0, 0, 1)]
    for function in (attention, jax.grad(lambda *a: attention(*a).sum(), (0, 1, 2))):
        made = conduct(function, objective=objective)
        for one, other in zip(made(*arrays), function(*arrays), strict=True):
            equal(one, other)
    assert "an axis of length 0" in str(made.explain(*arrays))


def test_random_keys() -> None:
    made = conduct(lambda key: jax.random.normal(key, (3,)))
    key = jax.random.key(1)
    equal(made(key), jax.random.normal(key, (3,)))


def test_off_is_off_inside_too() -> None:
    with off():
        equal(decorated(X), 2 * X)
    assert decorated.plan["programs"] is not None


def test_threads_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tiling=exponentials)
    made = conduct(lambda x: jnp.exp(x).sum())
    start, results = threading.Barrier(4), []

    def run() -> None:
        start.wait()
        results.append((made(X), jax.grad(made)(X)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for value, gradient in results:
        np.testing.assert_allclose(value, jnp.exp(X).sum(), rtol=1e-6)
        np.testing.assert_allclose(gradient, jnp.exp(X), rtol=1e-6)


def test_names_of_scopes_are_kept() -> None:
    def function(x: jax.Array) -> jax.Array:
        with jax.named_scope("my_scope"):
            return jnp.sin(x) * 2

    text = conduct(function).lower(X).as_text(debug_info=True)
    assert "my_scope" in text


def test_shapes_may_stand_for_arrays() -> None:
    made = conduct(lambda x: x @ x)
    shape = jax.ShapeDtypeStruct((4, 4), "float32")
    assert made.explain(shape).reason == ""
    assert made.lower(shape).compile().cost_analysis()["flops"] >= 2 * 4**3


def test_numpy_arrays_have_the_types_that_jax_gives_them() -> None:
    for made in (conduct(lambda x: x * 2), conduct(lambda x, how="a": x * 2)):
        assert made(np.ones(3)).dtype == "float32"
        assert made(np.arange(3)).dtype == "int32"
    assert conduct(lambda x, how: x * 2)(np.ones(3), "a").dtype == "float32"


def test_collectives_find_their_axis() -> None:
    made = conduct(lambda x: x - jax.lax.pmean(x, "b"))
    equal(jax.vmap(made, axis_name="b")(X), X - 1.5)
    assert "names an axis" in made.explain().reason


@pytest.mark.parametrize("is_checked", [True, False])
def test_in_a_map_over_devices(is_checked: bool) -> None:
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("i")
    made = jax.shard_map(
        conduct(jnp.sin), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=is_checked
    )
    equal(jax.jit(made)(X), jnp.sin(X))
    gradient = jax.jit(jax.grad(lambda x: made(x).sum()))(X)
    np.testing.assert_allclose(gradient, jnp.cos(X), rtol=1e-6)
