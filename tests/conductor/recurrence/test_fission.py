"""What a loop does without its carries is done for all steps at once; nothing else changes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from orchestrator_core.conductor import Goal, _jax
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence.parts import piece
from tests.conductor.recurrence.judged import errors, normal, rewritten, run, with_gradients


def gru(x: Any, w: Any, u: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        z = jax.nn.sigmoid(x @ w)
        h = (1 - z) * h + z * jnp.tanh(x @ u)
        return h, h

    return lax.scan(step, jnp.zeros(w.shape[1]), x)[1]


def tanh_rnn(x: Any, w: Any, u: Any) -> Any:
    return lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u),) * 2, jnp.zeros(u.shape[0]), x)[1]


def products_in_loops(graph: Graph) -> int:
    return sum(
        node.name == "dot_general"
        for loop in graph.nodes
        if loop.name == "scan"
        for node in Scan.of(loop).body.nodes
    )


GIVEN = normal((40, 24), (24, 32), (24, 32))


def test_matrix_products_leave_the_loop_by_cost_alone() -> None:
    function, sites, graph = rewritten(gru, GIVEN, Goal())
    assert products_in_loops(graph) == 0
    assert [site.is_changed for site in sites] == [True]
    assert "2 matrix products for all steps at once before it" in sites[0].chosen
    assert max(errors(gru, run(function, GIVEN), GIVEN)) < 1e-6


def test_gradients_of_matrices_are_summed_over_time_at_once() -> None:
    train = with_gradients(gru, 3)
    function, _, graph = rewritten(train, GIVEN, Goal())
    assert products_in_loops(graph) == 0
    assert max(errors(train, run(function, GIVEN), GIVEN)) < 1e-5


def test_what_a_sum_that_leaves_is_made_of_is_kept_though_nobody_else_reads_it() -> None:
    def apart(x: Any) -> Any:
        n = x.shape[1]

        def step(carry: Any, x: Any) -> Any:
            total, state = carry
            state = jnp.tanh(state + x)
            outer = jnp.sin(state)[:, None] @ jnp.cos(state)[None, :]
            total = total + (outer + state[0] * jnp.ones((n, n)))
            return (total, state), None

        (total, _), _ = lax.scan(step, (jnp.zeros((n, n)), jnp.zeros(n)), x)
        return total

    arrays = normal((40, 16))
    after, sites, _ = rewritten(apart, arrays, Goal(always=True))
    assert not any("Error" in site.reason for site in sites)
    assert any(site.is_changed for site in sites)
    assert max(errors(apart, run(after, arrays), arrays)) < 2e-6


def added_up(dtype: Any, term: Any = None) -> Any:
    """A loop that adds up products of few samples, of a type that it is given."""

    def function(u: Any, v: Any) -> Any:
        def step(total: Any, now: Any) -> Any:
            made = jnp.einsum("bi,bj->ij", *now)
            return total + (made if term is None else made.astype(term)).astype(dtype), None

        return lax.scan(step, jnp.zeros((u.shape[2], v.shape[2]), dtype), (u, v))[0]

    return function


def test_products_cut_to_whole_numbers_are_added_one_by_one() -> None:
    """A hundred times 0.75 is 75, and a hundred times what is left of it is nothing."""
    given = [jnp.full((100, 1, 16), 0.75), jnp.ones((100, 1, 16))]
    function, _, graph = rewritten(added_up(jnp.int32), given)
    assert products_in_loops(graph) == 1
    assert not run(function, given)[0].any()


def test_products_in_eight_bits_are_added_one_by_one() -> None:
    """The largest number that they can hold is 448."""
    given = [jnp.ones((600, 1, 16)), jnp.ones((600, 1, 16))]
    function, _, graph = rewritten(added_up(jnp.float32, jnp.float8_e4m3fn), given)
    assert products_in_loops(graph) == 1
    assert (run(function, given)[0] == 600).all()


def test_a_sum_of_short_products_is_as_long_as_what_it_is_added_to() -> None:
    """As gradients are in mixed precision. One of bfloat16 is off by 1/256 at most, 500 of them
    together by far less; in one of them nothing below 1/512 of the largest is left."""
    given = [1 + 0.3 * x for x in normal((500, 2, 16), (500, 2, 16))]
    given = [x.astype(jnp.bfloat16) for x in given]
    function, _, graph = rewritten(added_up(jnp.float32), given, Goal())
    assert products_in_loops(graph) == 0
    assert max(errors(added_up(jnp.float32), run(function, given), given)) < 1e-5


def test_gradients_in_mixed_precision_are_those_of_the_loop() -> None:
    """Within what steps round in bfloat16, which a compiler may leave out. In the loop the products
    lie as a CPU cannot sum them up in 32 bits."""

    def loss(w: Any, x: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            made = h.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)
            return jnp.tanh(made.astype(jnp.float32) + x), None

        return lax.scan(step, jnp.zeros(x.shape[1:]), x)[0].sum()

    given = [normal((128, 128))[0] / 20, *normal((100, 4, 128))]
    function, _, graph = rewritten(jax.grad(loss), given, Goal())
    assert products_in_loops(graph) == 2  # of the gradient of w none
    made, expected = run(function, given)[0], run(jax.grad(loss), given)
    assert abs(made - expected).max() < 1e-2 * abs(expected).max()


@pytest.mark.parametrize("carried", [jnp.bfloat16, jnp.float32])
def test_strictly_what_each_step_rounds_to_few_bits_is_rounded_in_each(carried: Any) -> None:
    """Beside 256 one more is lost in bfloat16, so the loop ends there."""
    given = [jnp.ones((300, 1, 16), jnp.bfloat16) for _ in range(2)]
    function, _, graph = rewritten(added_up(carried), given, Goal(precision="strict"))
    assert products_in_loops(graph) == 1
    expected = 256 if carried == jnp.bfloat16 else 300
    assert (run(function, given)[0] == expected).all()


def test_what_needs_the_carry_stays_and_the_rest_leaves() -> None:
    given = [*normal((40, 24), (24, 64)), normal((64, 64))[0] / 8]
    _, _, graph = rewritten(tanh_rnn, given, Goal())
    assert products_in_loops(graph) == 1
    train = with_gradients(tanh_rnn, 3)
    function, _, graph = rewritten(train, given, Goal())
    assert products_in_loops(graph) == 2  # one forward, one backward
    assert max(errors(train, run(function, given), given)) < 1e-5


def test_where_memory_is_short_nothing_is_kept_for_all_steps() -> None:
    for goal in (Goal(objective="memory"), Goal(memory=1000)):
        _, sites, graph = rewritten(gru, GIVEN, goal)
        assert products_in_loops(graph) == 2
        assert not any(site.is_changed for site in sites)


def crf(scores: Any, moves: Any, known: Any) -> Any:
    """The forward pass of a conditional random field; steps of which nothing is known are passed
    over."""

    def step(a: Any, each: Any) -> Any:
        scores, known = each
        new = jax.nn.logsumexp(a[:, :, None] + moves, axis=1) + scores
        return jnp.where(known[:, None], new, a), None

    return lax.scan(step, scores[0], (scores[1:], known[1:]))[0]


def lstm(x: Any, w: Any, u: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ w + h @ u, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((x.shape[1], u.shape[0]))
    return lax.scan(step, (start, start), x)[1]


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="how XLA fuses on a CPU")
def test_broadcasts_alone_do_not_leave_a_loop() -> None:
    """XLA reads through them; with a mask that is an array of its own, the loop below takes three
    times as long as it is written."""
    known = jnp.arange(258).reshape(129, 2) % 5 > 0
    given = [*normal((129, 2, 9), (9, 9)), known]
    _, sites, _ = rewritten(crf, given, Goal())
    assert not any(site.is_changed for site in sites)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="how XLA fuses on a CPU")
def test_a_product_whose_parts_are_read_one_by_one_stays_in_the_loop() -> None:
    """Of two rows: their four gates as pieces of one array of all steps cost more than the product
    saves, 1.4 times the loop as it is written."""
    given = normal((300, 2, 48), (48, 192), (48, 192))
    _, sites, graph = rewritten(lstm, given, Goal())
    assert products_in_loops(graph) == 2
    assert not any(site.is_changed for site in sites)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="how XLA runs products on a CPU")
def test_products_of_what_differs_in_each_step_stay_in_the_loop() -> None:
    """After the loop they would be as many, and all states an array."""

    def attention(q: Any, k: Any, v: Any) -> Any:
        def step(state: Any, each: Any) -> Any:
            q, k, v = each
            state = 0.9 * state + k[:, None] * v
            return state, q @ state

        return lax.scan(step, jnp.zeros((16, 16)), (q, k, v))[1]

    given = normal((40, 16), (40, 16), (40, 16))
    _, sites, graph = rewritten(attention, given, Goal())
    assert products_in_loops(graph) == 1
    assert not any(site.is_changed for site in sites)


def test_what_is_the_same_in_each_step_is_no_reason() -> None:
    """XLA takes it out of loops itself."""

    def forward(start: Any, moves: Any, scores: Any) -> Any:
        def step(a: Any, scores: Any) -> Any:
            a = jax.nn.logsumexp(a[:, None] + jax.nn.log_softmax(moves, 1), 0) + scores
            return a, a

        return lax.scan(step, start, scores)[1]

    _, sites, _ = rewritten(forward, normal((12,), (12, 12), (400, 12)), Goal())
    assert not any(site.is_changed for site in sites)


def test_it_is_strict() -> None:
    """Each element is computed as before, but for the order of sums in matrix products."""
    x = normal((40, 8))[0]

    def decay(x: Any) -> Any:
        return lax.scan(lambda h, x: (jnp.exp(-x * x) * h + jnp.sin(x),) * 2, jnp.ones(8), x)

    function, _, _ = rewritten(decay, [x], Goal(always=True, precision="strict"))
    assert max(errors(decay, run(function, [x]), [x])) < 1e-6


def test_a_loop_over_samples_is_not_made_a_batch() -> None:
    """``lax.map`` is asked for where a batch would not fit."""
    x, w = normal((40, 24), (24, 32))
    _, sites, graph = rewritten(lambda x, w: lax.map(lambda x: x @ w, x), [x, w], Goal())
    assert products_in_loops(graph) == 1
    assert sites == []


def test_nan_and_infinity_stay_where_they_are() -> None:
    x, w, u = GIVEN
    for bad in (jnp.nan, jnp.inf, -jnp.inf):
        given = [x.at[7, 3].set(bad), w, u]
        function, _, _ = rewritten(gru, given)
        assert max(errors(gru, run(function, given), given)) < 1e-6


def test_random_numbers_are_drawn_step_by_step() -> None:
    def noisy(key: Any) -> Any:
        def step(h: Any, key: Any) -> Any:
            h = 0.9 * h + jax.random.normal(key, (4,))
            return h, h

        return lax.scan(step, jnp.zeros(4), jax.random.split(key, 12))[1]

    key = jax.random.key(0)
    function, _, _ = rewritten(noisy, [key])
    assert jnp.allclose(run(function, [key])[0], jax.jit(noisy)(key), rtol=1e-5, atol=1e-6)


def test_effects_in_a_loop_keep_it_as_it_is() -> None:
    seen: list[float] = []

    def tells(x: Any, w: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            jax.debug.callback(lambda h: seen.append(float(h)), h.sum(), ordered=True)
            return h + x @ w, h

        return lax.scan(step, jnp.zeros(w.shape[1]), x)[1]

    x, w = normal((5, 3), (3, 3))
    function, sites, _ = rewritten(tells, [x, w])
    jax.block_until_ready(jax.jit(function)(x, w))
    jax.effects_barrier()
    assert sites == []
    assert len(seen) == 5


def test_what_a_counter_picks_is_picked_before_the_loop() -> None:
    def by_index(x: Any, w: Any) -> Any:
        return lax.fori_loop(0, 40, lambda i, h: 0.9 * h + x[i] @ w, jnp.zeros(w.shape[1]))

    x, w = normal((40, 24), (24, 64))
    function, _, graph = rewritten(by_index, [x, w], Goal())
    assert products_in_loops(graph) == 0
    assert max(errors(by_index, run(function, [x, w]), [x, w])) < 1e-6


def test_counters_wrap() -> None:
    def counts(x: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            h, k = c
            return (0.5 * h + x * k.astype(x.dtype), k + 100), k

        return lax.scan(step, (jnp.zeros(3), jnp.asarray(100, jnp.int8)), x, reverse=True)

    (x,) = normal((9, 3))
    function, _, _ = rewritten(counts, [x])
    for a, b in zip(run(function, [x]), jax.tree.leaves(jax.jit(counts)(x)), strict=True):
        assert jnp.allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.uint8])
def test_counters_wrap_over_more_steps_than_they_can_count(dtype: Any) -> None:
    def counts(x: Any, w: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            h, k = c
            return (0.5 * h + (x * jnp.sin(k)) @ w, k + jnp.asarray(1, k.dtype)), k

        return lax.scan(step, (jnp.zeros(32), jnp.asarray(0, dtype)), x)

    given = normal((300, 24), (24, 32))
    function, sites, _ = rewritten(counts, given)
    assert [site.is_changed for site in sites] == [True]
    for a, b in zip(run(function, given), jax.tree.leaves(jax.jit(counts)(*given)), strict=True):
        assert jnp.allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("dtype", [jnp.int32, jnp.uint8])
def test_whole_numbers_wrap_as_before(dtype: Any) -> None:
    x = jnp.arange(40, dtype=dtype).reshape(10, 4) * 31

    def wraps(x: Any) -> Any:
        return lax.scan(lambda c, x: (c * 7 + x * x, c), jnp.ones(4, dtype), x)

    function, _, _ = rewritten(wraps, [x])
    for a, b in zip(run(function, [x]), jax.jit(wraps)(x), strict=True):
        assert jnp.array_equal(a, b)


def test_a_piece_that_is_given_one_of_the_values_of_a_node_does_not_need_the_node() -> None:
    graph = read(_jax.trace(lambda x: jnp.sin(jnp.split(x, 2)[0]), normal((6,))))
    (half, _) = next(node.outputs for node in graph.nodes if node.name == "split")
    part = piece(graph, [half], graph.outputs)
    assert [node.name for node in part.nodes] == ["sin"]
    assert evaluate(part, [jnp.zeros(3)])[0].tolist() == [0.0, 0.0, 0.0]


def several(x: Any, *weights: Any) -> Any:
    """A step reads as many products of what is given as there are weights, and makes another."""
    *given, w, out = weights

    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(h @ w + sum(jnp.tanh(x @ each) for each in given))
        return h, h @ out

    return lax.scan(step, jnp.zeros(w.shape[1]), x)[1]


@pytest.mark.parametrize(
    ("state", "read", "count", "made", "left"),
    [
        (4, 4, 1, 2, 3),  # a loop of little, in which none of them costs much
        (32, 32, 1, 4, 3),
        (8, 3, 2, 2, 4),
        (64, 16, 1, 2, 2),
        (8, 8, 2, 2, 2),
        (8, 8, 2, 8, 1),  # that of what is returned goes, too
        (32, 8, 1, 8, 2),
    ],
)
def test_products_that_steps_do_at_no_cost_stay_there(
    state: int, read: int, count: int, made: int, left: int
) -> None:
    weights = [*[(read, state)] * count, (state, state), (state, made)]
    given = [each / len(each) ** 0.5 / 2 for each in normal((300, read), *weights)]
    function, _, graph = rewritten(several, given, Goal())
    assert products_in_loops(graph) == left
    assert max(errors(several, run(function, given), given)) < 1e-5
    _, _, always = rewritten(several, given)
    assert products_in_loops(always) == 1
