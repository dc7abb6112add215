"""A loop does what is done around it within its steps, where that leaves no arrays of all steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from orchestrator_core.conductor import Goal, _jax, conduct
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence import absorb
from orchestrator_core.conductor.recurrence.absorb import CHOSEN, CHOSEN_SHARED
from orchestrator_core.conductor.recurrence.absorbing import Absorbing
from orchestrator_core.conductor.recurrence.gathered import gathered
from orchestrator_core.conductor.recurrence.sums import products
from tests.conductor.recurrence.judged import errors, normal, rewritten, run

STEPS, CHANNELS, STATES = 200, 16, 8


def sizes(steps: int, channels: int, states: int) -> list[tuple[int, ...]]:
    """Of inputs, time steps, decays, and what reads and writes the states."""
    of_steps = (steps, channels)
    return [of_steps, of_steps, (channels, states), (steps, states), (steps, states)]


GIVEN = normal(*sizes(STEPS, CHANNELS, STATES))


def mamba(x: Any, dt: Any, a: Any, b: Any, c: Any, unroll: int = 1) -> Any:
    """Gu & Dao 2023, with gates and inputs of all steps made before the loop."""
    dt = jax.nn.softplus(dt)
    gates = jnp.exp(dt[:, :, None] * -jnp.exp(a))
    added = dt[:, :, None] * b[:, None, :] * x[:, :, None]
    step, start = lambda h, e: (e[0] * h + e[1],) * 2, jnp.zeros(a.shape)
    states = lax.scan(step, start, (gates, added), unroll=unroll)[1]
    return jnp.einsum("tdn,tn->td", states, c)


def in_parallel(x: Any, dt: Any, a: Any, b: Any, c: Any) -> Any:
    dt = jax.nn.softplus(dt)
    gates = jnp.exp(dt[:, :, None] * -jnp.exp(a))
    added = dt[:, :, None] * b[:, None, :] * x[:, :, None]
    _, states = lax.associative_scan(
        lambda one, two: (one[0] * two[0], two[0] * one[1] + two[1]), (gates, added)
    )
    return jnp.einsum("tdn,tn->td", states, c)


def with_gradients_of_all(x: Any, dt: Any, a: Any, b: Any, c: Any) -> Any:
    """A step reads its state in the loop, and makes its gates by sums of nothing before it."""

    def loss(x: Any, dt: Any, a: Any, b: Any, c: Any) -> Any:
        gates = jnp.exp(jnp.einsum("ld,dn->ldn", jax.nn.softplus(dt), -jnp.exp(a)))
        added = jnp.einsum("ld,ln,ld->ldn", dt, b, x)

        def step(h: Any, each: Any) -> Any:
            gate, more, c = each
            h = gate * h + more
            return h, jnp.einsum("dn,n->d", h, c)

        return (lax.scan(step, jnp.zeros(a.shape), (gates, added, c))[1] ** 2).sum()

    return jax.value_and_grad(loss, argnums=(0, 1, 2, 3, 4))(x, dt, a, b, c)


def test_forward_and_backward_loops_make_the_gates_again() -> None:
    made, sites, graph = rewritten(with_gradients_of_all, GIVEN, Goal(objective="memory"))
    assert CHOSEN_SHARED in [site.chosen for site in sites]
    assert largest(graph) <= STEPS * CHANNELS
    assert max(errors(with_gradients_of_all, run(made, GIVEN), GIVEN)) < 1e-5


def test_gates_and_states_of_all_steps_are_never_made() -> None:
    made, sites, graph = rewritten(mamba, GIVEN, Goal(objective="memory"))
    assert CHOSEN in [site.chosen for site in sites]
    assert largest(graph) <= STEPS * CHANNELS
    assert max(errors(mamba, run(made, GIVEN), GIVEN)) < 1e-6


@pytest.mark.parametrize("function", [mamba, in_parallel])
def test_where_caches_do_not_hold_them_they_are_not_made_for_time(function: Any) -> None:
    large = [jax.ShapeDtypeStruct(each, jnp.float32) for each in sizes(2048, 128, 16)]
    _, sites, graph = rewritten(function, large, Goal())
    assert CHOSEN in [site.chosen for site in sites]
    assert largest(graph) <= 2048 * 128


def two_loops(s: Any, y: Any, g: Any) -> Any:
    """The direction of a quasi-Newton method (J. Nocedal, 1980)."""

    def back(q: Any, pair: Any) -> Any:
        s, y, rho = pair
        alpha = rho * (s @ q)
        return q - alpha * y, alpha

    def forth(q: Any, pair: Any) -> Any:
        s, y, rho, alpha = pair
        return q + s * (alpha - rho * (y @ q)), None

    rho = 1 / (s * y).sum(1)
    q, alpha = lax.scan(back, g, (s, y, rho), reverse=True)
    q = q * (s[-1] @ y[-1]) / (y[-1] @ y[-1])
    return lax.scan(forth, q, (s, y, rho, alpha))[0]


def test_what_a_loop_takes_in_must_gain_for_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone it left no arrays of all steps; around it more of them had to be kept for what comes
    later (1.4 times the bytes, for no time)."""
    monkeypatch.setattr(absorb, "GAIN", 1.0)  # whatever the device is like

    def trained(*given: Any) -> Any:
        loss = lambda *each: jnp.sin(two_loops(*each)).sum()  # noqa: E731
        return jax.value_and_grad(loss, argnums=(0, 1, 2))(*given)

    given = normal((13, 50021), (13, 50021), (50021,))
    plain, ours = (f.lower(*given).compile() for f in (jax.jit(trained), conduct(trained)))
    assert bytes_of(ours) <= 1.05 * bytes_of(plain)


@pytest.mark.parametrize("last", [0.05, jnp.inf, -jnp.inf, jnp.nan])
def test_sums_over_many_steps_lose_nothing(last: float) -> None:
    """A tenth is no more than 13 last digits of what a million of them come to: added one by one,
    they were off by a hundredth of the sum."""

    def total(x: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            return 0.5 * h + x, 0.5 * h + x

        return lax.scan(step, jnp.zeros(()), x)[1].sum()

    x = jnp.full((1_000_000,), 0.05).at[999_990].set(last)
    found = conduct(total, objective="memory", precision="strict")
    assert CHOSEN in str(found.explain(x))
    assert jnp.allclose(found(x), jax.jit(total)(x), rtol=1e-6, equal_nan=True)


def bytes_of(compiled: Any) -> int:
    return compiled.memory_analysis().temp_size_in_bytes


def test_what_goes_into_a_loop_is_not_made_by_it_then() -> None:
    """A sum of products over all steps, the gradient of a matrix, is taken out of it and reads what
    went in: that was kept for each step once more."""

    def trained(w: Any, xs: Any) -> Any:
        def loss(w: Any) -> Any:
            turn = lambda h, x: (jnp.tanh(x @ w + h),) * 2  # noqa: E731
            hs = lax.scan(turn, jnp.zeros((5, 192)), xs)[1]
            return (jnp.sin(hs) * jnp.cos(hs)).sum()

        return jax.grad(loss)(w)

    graph = read(_jax.trace(trained, [jnp.ones((33, 192)), jnp.ones((211, 5, 33))]))
    node = [each for each in graph.nodes if each.name == "scan"][-1]
    found = gathered(graph, node)
    assert found.nodes
    whole = Absorbing(graph, node, found).done()
    loop = Scan.of([each for each in whole.nodes if each.name == "scan"][-1])
    (product,) = products(loop)
    assert not set(loop.x_inputs).isdisjoint(product.operands)


def test_a_turn_of_the_compiled_loop_is_about_as_long_as_it_was() -> None:
    """A small step that is written out a hundred times is not, once it is a large one."""
    often = partial(mamba, unroll=100)
    before = read(_jax.trace(often, GIVEN))
    _, _, after = rewritten(often, GIVEN, Goal(objective="memory"))
    assert written_out(loop_of(before)) == 200
    assert 100 <= written_out(loop_of(after)) <= 400


def written_out(loop: Any) -> int:
    """Operations of one turn of the compiled loop."""
    return int(loop.params["unroll"]) * len(loop.params["jaxpr"].eqns)


def largest(graph: Graph) -> int:
    """Elements of the largest array between nodes."""
    return max(output.size for node in graph.nodes for output in node.outputs)


def countdown(x: Any, w: Any) -> Any:
    """Backwards, with steps along other axes than the first, positions, and a shared matrix."""
    order = jnp.arange(x.shape[1], dtype=x.dtype)
    xs = jnp.sin(jnp.swapaxes(x, 0, 1)) * order[:, None]

    def step(h: Any, x: Any) -> Any:
        h = 0.5 * h + x
        return h, h

    last, ys = lax.scan(step, jnp.zeros(x.shape[0]), xs, reverse=True)
    ys = jnp.swapaxes(ys, 0, 1)
    return last, jnp.cos(ys) + jnp.sin(x), ys @ w


def test_any_axis_any_direction_and_positions() -> None:
    given = normal((5, 40), (40, 7))
    made, _, graph = absorbed(countdown, given)
    assert "sin" not in [node.name for node in before_loop(graph)]
    assert max(errors(countdown, run(made, given), given)) < 1e-5


def shared(x: Any) -> Any:
    gates = jax.nn.sigmoid(x)
    ys = lax.scan(lambda h, g: (g * h + 1,) * 2, jnp.zeros(x.shape[1]), gates)[1]
    return ys, gates.sum()


def smoothed(x: Any) -> Any:
    """A step needs its neighbours' slices as well."""
    around = x[:-2] + x[1:-1] + x[2:]
    ys = lax.scan(lambda h, x: (h + x,) * 2, jnp.zeros(x.shape[1]), around)[1]
    return jnp.cumsum(ys, 0)


def normalised(x: Any) -> Any:
    """What is done after the loop needs all of its steps."""
    ys = lax.scan(lambda h, x: (0.9 * h + x,) * 2, jnp.zeros(x.shape[1]), x)[1]
    return ys / ys.max()


@pytest.mark.parametrize("function", [shared, smoothed, normalised])
def test_what_others_read_and_what_needs_other_steps_stays_outside(function: Any) -> None:
    given = normal((30, 4))
    graph = graph_of(function, given)
    found = gathered(graph, loop_of(graph))
    names = {node.name for node in found.nodes}
    assert names.isdisjoint({"logistic", "slice", "cumsum", "reduce_max", "div"})


def absorbed(function: Any, given: Any) -> Any:
    graph = graph_of(function, given)
    found = gathered(graph, loop_of(graph))
    done = Absorbing(graph, loop_of(graph), found).done()
    return lambda *arrays: evaluate(done, arrays), found, done


def before_loop(graph: Graph) -> list[Any]:
    return list(graph.nodes[: graph.nodes.index(loop_of(graph))])


def graph_of(function: Any, given: Any) -> Graph:
    return read(_jax.trace(lambda *arrays: jax.tree.leaves(function(*arrays)), given))


def loop_of(graph: Graph) -> Any:
    return next(node for node in graph.nodes if node.name == "scan")
