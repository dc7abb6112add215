"""Arguments that are no arrays, and change: what is answered is never from before."""

from __future__ import annotations

import logging
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.state import MOST_BYTES, state_of
from orchestrator_core.conductor.traces import CHANGING, MOST_CONSTANTS, NOT_COMPARABLE

X = jnp.arange(3.0)


class Thing:
    """Equal to itself alone, as objects are whose class says nothing else."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def scaled(self, x: jax.Array) -> jax.Array:
        return x * self.scale  # type: ignore[attr-defined, no-any-return]


class Slotted:
    __slots__ = ("__hidden", "scale")

    def __init__(self, scale: float) -> None:
        self.scale = self.__hidden = scale

    def hide(self, scale: float) -> None:
        self.__hidden = scale

    @property
    def hidden(self) -> float:
        return self.__hidden


def equal(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(a, b)


def loop() -> Thing:
    thing = Thing()
    thing.me = thing  # type: ignore[attr-defined]
    return thing


def nested(deep: int) -> Thing:
    thing = Thing()
    for _ in range(deep):
        thing = Thing(inner=thing)
    return thing


def test_an_object_that_has_changed_is_read_again() -> None:
    thing = Thing(scale=2.0)
    scaled = conduct(lambda x, thing: x * thing.scale)
    equal(scaled(X, thing), 2 * X)
    thing.scale = 5.0
    equal(scaled(X, thing), 5 * X)
    thing.scale = jnp.ones(3)
    equal(scaled(X, thing), X)
    thing.scale = thing.scale + 1
    equal(scaled(X, thing), 2 * X)
    assert scaled.explain(X, thing).reason == ""


def test_so_are_the_objects_of_methods_and_bound_methods() -> None:
    class Model(Thing):
        @conduct
        def run(self, x: jax.Array) -> jax.Array:
            return self.scaled(x)

    model = Model(scale=2.0)
    apply = conduct(lambda x, f: f(x))
    for scale in (2.0, 3.0):
        model.scale = scale
        equal(model.run(X), scale * X)
        equal(apply(X, model.scaled), scale * X)


def test_attributes_without_a_dictionary() -> None:
    slotted = Slotted(2.0)
    run = conduct(lambda x, s: x * s.scale + s.hidden)
    equal(run(X, slotted), 2 * X + 2)
    slotted.scale = 3.0
    equal(run(X, slotted), 3 * X + 2)
    slotted.hide(7.0)
    equal(run(X, slotted), 3 * X + 7)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.parts.append(1),
        lambda t: t.table.update(key=2),
        lambda t: t.names.add("b"),
        lambda t: setattr(t.inner, "scale", -0.0),
        lambda t: setattr(t, "scale", True),
        lambda t: t.inner.array.__setitem__(0, 7.0),
        lambda t: setattr(t, "bound", Thing(scale=1.0).scaled),
        lambda t: delattr(t, "scale"),
    ],
)
def test_whatever_changes_in_it_is_seen(change: Any) -> None:
    inner = Thing(scale=0.0, array=np.zeros(3), fun=len, log=logging.getLogger(__name__))
    bound = inner.scaled
    thing = Thing(parts=[], table={"key": 1}, names={"a"}, inner=inner, scale=1, bound=bound)
    before = state_of(thing)
    assert before == state_of(thing)
    assert hash(before) == hash(state_of(thing))
    change(thing)
    assert before != state_of(thing)


def test_equal_numbers_are_equal_whether_or_not_they_are_one_object() -> None:
    one = float("2.5")
    thing = Thing(a=one, b=one)
    before = state_of(thing)
    thing.b = float("2.5")
    assert before == state_of(thing)


def test_sets_are_compared_by_what_is_in_them() -> None:
    many = conduct(lambda x, names: x * len(names))
    equal(many(X, {"a", "b"}), 2 * X)
    equal(many(X, {"a", "b", "c"}), 3 * X)
    assert many.explain(X, {"b", "a"}).reason == ""


def test_objects_that_hold_each_other() -> None:
    thing = loop()
    assert state_of(thing) == state_of(thing)
    assert state_of(thing) != state_of(loop())


@pytest.mark.parametrize(
    "hidden",
    [np.zeros(MOST_BYTES), np.array([{}], object), nested(500), [Thing() for _ in range(5000)]],
    ids=["large", "objects", "deep", "many"],
)
def test_what_cannot_be_looked_through_runs_as_it_was(hidden: Any) -> None:
    thing = Thing(scale=2.0, hidden=hidden)
    scaled = conduct(Thing.scaled)
    equal(scaled(thing, X), 2 * X)
    assert scaled.explain(thing, X).reason == NOT_COMPARABLE
    thing.scale = 3.0
    equal(scaled(thing, X), 3 * X)


def test_what_changes_all_the_time_is_not_compiled_each_time() -> None:
    calls: list[int] = []

    def scaled(x: jax.Array, thing: Any) -> jax.Array:
        calls.append(isinstance(x, jax.core.Tracer))
        return x * thing.scale

    conducted, thing = conduct(scaled), Thing(scale=0.0)
    for k in range(3 * MOST_CONSTANTS):
        thing.scale = float(k)
        equal(conducted(X, thing), k * X)
    assert sum(calls) <= MOST_CONSTANTS + 1
    assert conducted.explain(X, thing).reason == CHANGING


def test_many_objects_of_a_class_do_not_count_as_one_that_changes() -> None:
    scaled = conduct(Thing.scaled)
    things = [Thing(scale=float(k)) for k in range(2 * MOST_CONSTANTS)]
    for thing in things:
        equal(scaled(thing, X), thing.scale * X)  # type: ignore[attr-defined]
        assert scaled.explain(thing, X).reason == ""
