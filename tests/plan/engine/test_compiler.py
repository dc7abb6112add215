"""What kernels borrow is never freed under their hands, and what they make is never kept."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.runtime import _nrt_python, rtsys

from orchestrator_core.plan.engine.compiled import compiled, inner, interpreted

COUNT = 5


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


class Nest(NamedTuple):
    pair: Pair
    size: int


@inner
def _right(nest: Nest) -> np.ndarray:
    return nest.pair.right


@inner
def _turned(pair: Pair) -> Pair:
    return Pair(pair.right, pair.left)


@compiled
def argument(nest: Nest) -> Nest:
    return nest


@compiled
def field(nest: Nest) -> np.ndarray:
    return _right(nest)


@compiled
def either(nest: Nest) -> np.ndarray:
    found = nest.pair.left
    for k in range(nest.size):
        if k % 2:
            found = nest.pair.right
    return found


@compiled
def rebound(nest: Nest) -> np.ndarray:
    pair = nest.pair
    for _ in range(nest.size):
        pair = _turned(pair)
    return pair.left


@compiled
def kept_and_made(nest: Nest) -> Pair:
    made = Pair(nest.pair.left, np.full(nest.size, 7.0))
    for _ in range(nest.size):
        made = Pair(made.left, made.right + nest.pair.left)
    return made


@compiled
def broken(nest: Nest) -> np.ndarray:
    held = np.full(nest.size, 2.0)
    if nest.pair.left[0] < held[0]:
        raise ValueError("as told")
    return held


KERNELS = (argument, field, either, rebound, kept_and_made)


def arrays_of(found: Any) -> list[np.ndarray]:
    if isinstance(found, tuple):
        return [each for part in found for each in arrays_of(part)]
    return [found] if isinstance(found, np.ndarray) else []


def nest() -> Nest:
    return Nest(Pair(np.arange(COUNT) + 1.0, np.arange(COUNT) + 11.0), COUNT)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_results_are_pythons_and_live_as_long_as_they_are_held(
    kernel: Callable[[Nest], Any],
) -> None:
    given = nest()
    expected = [each.copy() for each in arrays_of(interpreted(kernel)(given))]
    found = arrays_of(kernel(given))
    del given
    for _ in range(50):
        np.full(COUNT, -1.0)  # what takes the place of memory that was freed too early
        kernel(nest())
    assert all(map(np.array_equal, found, expected))
    assert len(found) == len(expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_nothing_is_held_once_the_result_is_gone(kernel: Callable[[Nest], Any]) -> None:
    given = nest()
    kernel(given)
    before = [sys.getrefcount(each) for each in given.pair]
    _nrt_python.memsys_enable_stats()
    begun = rtsys.get_allocation_stats()
    for _ in range(10):
        kernel(given)
    ended = rtsys.get_allocation_stats()
    assert [sys.getrefcount(each) for each in given.pair] == before
    assert ended.mi_alloc - begun.mi_alloc == ended.mi_free - begun.mi_free > 0


def test_an_error_leaves_what_was_borrowed_as_it_was() -> None:
    given = nest()
    with pytest.raises(ValueError, match="as told"):
        broken(given)
    before = [sys.getrefcount(each) for each in given.pair]
    for _ in range(3):
        with pytest.raises(ValueError, match="as told"):
            broken(given)
    assert [sys.getrefcount(each) for each in given.pair] == before


class _Compiled(event.Listener):
    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def on_start(self, what: event.Event) -> None:
        self.found[what.data["dispatcher"].py_func.__qualname__] += 1

    def on_end(self, what: event.Event) -> None:
        pass


def test_numbas_own_functions_are_compiled_once_for_kernels_and_what_they_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from orchestrator_core.plan.engine.machine import KNOWN

    if not numba.__version__.startswith(KNOWN):
        pytest.skip("with this numba kernels are compiled its own way")

    @inner
    def piece(x: np.ndarray, by: int) -> np.ndarray:
        return np.roll(x, by)

    @compiled
    def kernel(x: np.ndarray, by: int) -> np.ndarray:
        return np.roll(piece(x, by), by)

    # An earlier run of this test has left it on disk.
    monkeypatch.setattr(kernel.machine._cache, "load_overload", lambda *known: None)
    listener = _Compiled()
    with event.install_listener("numba:compile", listener):
        assert kernel(np.arange(5.0), 1).tolist() == [3.0, 4.0, 0.0, 1.0, 2.0]
    assert [times for name, times in listener.found.items() if "roll" in name] == [1]


def test_what_has_no_door_from_python_says_so() -> None:
    """numba would end the process."""
    with pytest.raises(TypeError, match="_turned can be called by compiled code alone"):
        _turned(Pair(np.ones(1), np.zeros(1)))


def test_another_numba_compiles_its_own_way() -> None:
    """Its inside may be another; what is compiled must not depend on that."""
    from orchestrator_core.plan.engine import machine

    assert all("pipeline_class" not in options for options in machine.ways("0.99.0"))
    assert all("pipeline_class" in options for options in machine.ways(f"{machine.KNOWN}0"))
