"""Recurrences are told from loops that are none, by what their bodies do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts import affine
from orchestrator_core.conductor.facts.affine import Kind
from orchestrator_core.conductor.facts.recurrent import in_words, systems_of
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.scan import Scan
from tests.conductor.corpus.recurrences import AFFINE, NEAR_MISSES, Recurrence

Step = Callable[[jax.Array, jax.Array], jax.Array]


def found(recurrence: Recurrence) -> list[list]:
    """The systems of all loops."""
    arrays = [jnp.ones(shape) for shape in recurrence.shapes]
    graph = read(_jax.trace(lambda *a: jax.tree.leaves(recurrence.function(*a)), arrays))
    return [systems_of(Scan.of(node)) for _, node in graph.walk() if node.name == "scan"]


def kinds(recurrence: Recurrence) -> set[Kind]:
    return {system.kind for systems in found(recurrence) for system in systems}


@pytest.mark.parametrize("recurrence", AFFINE, ids=lambda each: each.name)
def test_affine_ones_are_proven(recurrence: Recurrence) -> None:
    assert found(recurrence)
    assert Kind.NONE not in kinds(recurrence)


@pytest.mark.parametrize("recurrence", NEAR_MISSES, ids=lambda each: each.name)
def test_near_misses_are_not(recurrence: Recurrence) -> None:
    assert Kind.NONE in kinds(recurrence)


def named(name: str) -> Recurrence:
    return next(each for each in [*AFFINE, *NEAR_MISSES] if each.name == name)


@pytest.mark.parametrize(
    ("name", "kind", "is_elementwise"),
    [
        ("mamba", Kind.LINEAR, True),
        ("delta_net", Kind.LINEAR, False),
        ("dense_rows", Kind.LINEAR, False),
        ("rotation_as_two_real_carries", Kind.LINEAR, True),
        ("viterbi", Kind.TROPICAL, False),
        ("decaying_maximum", Kind.TROPICAL, True),
        ("hmm_forward", Kind.LOG_LINEAR, False),
        ("ctc", Kind.LOG_LINEAR, False),
        ("min_gru_in_log_space", Kind.LOG_LINEAR, True),
        ("differences", Kind.FREE, True),
    ],
)
def test_of_which_kind_they_are(name: str, kind: Kind, is_elementwise: bool) -> None:
    ((system,),) = found(named(name))
    assert (system.kind, system.is_elementwise) == (kind, is_elementwise)


@pytest.mark.parametrize(
    ("step", "dtype", "kind"),
    [
        (lambda c, x: c | x, "int32", Kind.TROPICAL),
        (lambda c, x: (c + x) | 3, "int32", Kind.NONE),
        (jnp.maximum, "int32", Kind.TROPICAL),
        (lambda c, x: jnp.maximum(c + x, 0), "int32", Kind.NONE),
        (lambda c, x: jnp.minimum(c, x) - x, "uint8", Kind.NONE),
        (lambda c, x: jnp.maximum(c + x, 0), "float32", Kind.TROPICAL),
        (lambda c, x: jnp.log(jnp.abs(jnp.exp(c) + x)), "float32", Kind.NONE),
        (lambda c, x: jnp.log(jnp.abs(jnp.exp(c) + jnp.exp(x))), "float32", Kind.LOG_LINEAR),
    ],
)
def test_what_may_wrap_around_or_change_its_sign(step: Step, dtype: str, kind: Kind) -> None:
    """Sums of whole numbers do, and so does what something below zero is added to."""

    def function(c: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda c, x: (step(c, x), None), c, x)[0]

    given = jnp.ones(4, dtype), jnp.ones((6, 4), dtype)
    (node,) = read(jax.make_jaxpr(function)(*given)).nodes
    (system,) = systems_of(Scan.of(node))
    assert system.kind is kind


@pytest.mark.parametrize(
    "step",
    [
        lambda c, x: jnp.logaddexp(x - c, x - c),
        lambda c, x: jnp.logaddexp(jnp.where(x > 0, x - c, 2 * x - c), x),
    ],
)
def test_what_is_made_of_carries_that_are_subtracted_is_not_affine(step: Step) -> None:
    recurrence = Recurrence(
        "", lambda c, x: jax.lax.scan(lambda c, x: (step(c, x), None), c, x)[0], ((4,), (6, 4))
    )
    ((system,),) = found(recurrence)
    assert system.kind is Kind.NONE


def test_the_largest_may_be_seen_through_many_views() -> None:
    """More than Python's stack is deep."""

    def through(x: jax.Array) -> jax.Array:
        for _ in range(1000):
            x = x.reshape(1, *x.shape).reshape(x.shape)
        return x

    def step(c: jax.Array, p: jax.Array) -> tuple[jax.Array, None]:
        largest = through(c.max(keepdims=True))
        return jnp.log(jnp.exp(c - largest) @ p) + largest, None

    recurrence = Recurrence("", lambda *a: jax.lax.scan(step, *a)[0], ((4,), (6, 4, 4)))
    ((system,),) = found(recurrence)
    assert system.kind is Kind.LOG_LINEAR


def test_carries_are_solved_in_the_order_in_which_they_need_each_other() -> None:
    (systems,) = found(named("rwkv4"))
    assert sorted(system.kind.name for system in systems) == ["LINEAR", "LINEAR", "TROPICAL"]
    (systems,) = found(named("second_order_filter"))
    assert [len(system.carries) for system in systems] == [2]


def test_what_is_to_blame_is_named() -> None:
    (systems,) = found(named("tanh_rnn"))
    assert in_words(systems) == "a loop that is not affine: tanh of what it carries"


def test_each_operation_is_looked_at_once_however_many_carries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sixty means that decay, and in each step their sum, which every one of them reaches but none
    needs: a look for each carry at all that it reaches were 1,770 looks at additions alone."""
    looks: list[Node] = []
    fact = affine._fact

    def counted(domain: affine.Domain, node: Node, given: Sequence[affine.Fact]) -> affine.Fact:
        looks.append(node)
        return fact(domain, node, given)

    def step(carry: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        new = [0.5 * each + x for each in carry]
        return new, sum(new, start=jnp.zeros(()))

    def means(x: jax.Array) -> jax.Array:
        return jax.lax.scan(step, [jnp.zeros(())] * 60, x)[1]

    monkeypatch.setattr(affine, "_fact", counted)
    (systems,) = found(Recurrence("", means, ((8,),)))
    assert [system.carries for system in systems] == [(k,) for k in range(60)]
    assert {system.kind for system in systems} == {Kind.LINEAR}
    assert len(looks) == len(set(looks)) == 120


def test_carries_that_only_change_places_are_one_system() -> None:
    """Each is handed on as another one: no operation is between them."""

    def turned(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda s, _: ((s[1], s[2], s[0]), None), (a, b, c), length=5)[0]

    (systems,) = found(Recurrence("", turned, ((4,), (4,), (4,))))
    assert [system.carries for system in systems] == [(0, 1, 2)]
