"""Windows that are rounded to whole tasks: they say more than parts do, and never too much."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidCertificate
from orchestrator_core.plan.bounds.certificate import Case, Certificate, Sum, Window
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.bounds.claims import in_whole_tasks, rounding_of
from orchestrator_core.plan.bounds.leaf import Leaf, settle
from orchestrator_core.plan.bounds.looks import count
from orchestrator_core.plan.bounds.raising import sum_of
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import initial, tightened
from orchestrator_core.plan.bounds.whole import counted
from orchestrator_core.plan.bounds.windows import fit
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.engine.expand import expand


def alike(tasks: int, seconds: float, workers: int) -> Instance:
    """So many tasks as long as each other, on workers that are alike."""
    return Instance.from_arrays(np.full((tasks, workers), float(seconds)), [])


def on_mixed(seconds: list[float], slowness: list[float]) -> Instance:
    """Independent tasks on workers of which some are slower."""
    return Instance.from_arrays(np.outer(seconds, slowness), [])


def looked_at(instance: Instance, upper: float, guesses: int) -> Leaf:
    """All cases together, after the window program and so many guesses."""
    relaxation = Relaxation.of(expand(instance))
    leaf = Leaf(0.0, tightened(relaxation, initial(relaxation, upper)))
    settle(relaxation, leaf, accuracy=1e-7)
    for _ in count(relaxation, leaf, guesses):
        pass
    return leaf


def proven(instance: Instance, upper: float, guesses: int = 12) -> float:
    """What is proven, by a certificate that holds."""
    leaf = looked_at(instance, upper, guesses)
    found = verify(instance, Certificate(leaf.value, upper, leaf.as_case()))
    assert found == pytest.approx(leaf.value, rel=1e-7)
    return leaf.value


def least(instance: Instance) -> float:
    """The shortest makespan of independent tasks, over all assignments."""
    seconds = instance.seconds
    n, w = seconds.shape
    workers = np.array(list(itertools.product(range(w), repeat=n)))
    loads = [(np.where(workers == b, seconds[:, b], 0.0)).sum(axis=1) for b in range(w)]
    return float(np.max(loads, axis=0).min())


def test_a_worker_has_six_of_eleven_equal_tasks() -> None:
    # In parts each has five and a half: 16.5 s. Whole, one has six.
    assert proven(alike(11, 3, 2), 30.0, guesses=0) == pytest.approx(16.5, rel=1e-5)
    assert proven(alike(11, 3, 2), 30.0) == pytest.approx(18.0, rel=1e-3)


def test_a_slow_worker_has_one_task_or_none() -> None:
    # Seven tasks of 4 s, one worker of three takes 12 s: in parts 12 s, by 3, 3 and 1 tasks. Of
    # eight, 96/7 = 13.71 s in parts; whole, the slow one has one at most below 24 s, so 16 s.
    slowness = [1.0, 1.0, 3.0]
    assert proven(on_mixed([4.0] * 7, slowness), 30.0) == pytest.approx(12.0, rel=1e-3)
    assert proven(on_mixed([4.0] * 8, slowness), 30.0, guesses=0) == pytest.approx(96 / 7, rel=1e-5)
    assert proven(on_mixed([4.0] * 8, slowness), 30.0) == pytest.approx(16.0, rel=2e-3)


def test_it_counts_between_heads_and_tails() -> None:
    # After 1 s and before another, seven tasks of 3 s on three workers: one has three of them.
    edges = [(0, t, 0.0) for t in range(1, 8)] + [(t, 8, 0.0) for t in range(1, 8)]
    seconds = np.repeat(np.array([1.0] + [3.0] * 7 + [1.0])[:, None], 3, axis=1)
    assert proven(Instance.from_arrays(seconds, edges), 20.0) == pytest.approx(11.0, rel=1e-3)


def test_many_that_are_nearly_alike_on_a_mixed_cluster() -> None:
    # Forty tasks that differ by 20 %, as a map over parts of some data does, on eight workers.
    rng = np.random.default_rng(5)
    seconds = (5000 + 1000 * rng.random(40)).tolist()
    slowness = [1.285, 1.0, 1.114, 2.202, 1.947, 1.022, 3.627, 1.069]
    instance = on_mixed(seconds, slowness)
    in_parts = looked_at(instance, 1e9, guesses=0).value
    assert in_parts == pytest.approx(sum(seconds) / sum(1 / s for s in slowness), rel=1e-4)
    # Fastest first, longest where it ends soonest, is a schedule; so the truth lies between.
    ends = np.zeros(8)
    for each in sorted(seconds, reverse=True):
        b = int(np.argmin(ends + each * np.array(slowness)))
        ends[b] += each * slowness[b]
    bound = proven(instance, float(ends.max()) * 1.001)
    assert in_parts * 1.006 < bound <= ends.max()


@pytest.mark.parametrize("seed", range(12))
def test_no_guess_proves_more_than_is_true(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, w = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    seconds = rng.integers(2, 12, (n, w)).astype(float)
    if seed % 2:
        seconds = np.outer(rng.integers(4, 9, n), rng.integers(1, 4, w)).astype(float)
    instance = Instance.from_arrays(seconds, [])
    optimum = least(instance)
    relaxation = Relaxation.of(expand(instance))
    state = tightened(relaxation, initial(relaxation, 1e6))
    assert state is not None
    in_parts = fit(relaxation, state, np.arange(n), known=1.0, accuracy=1e-7)
    for guess in np.linspace(0.8 * in_parts.bound, 1.3 * optimum, 40).tolist():
        found = fit(relaxation, state, np.arange(n), guess, claims=in_parts, whole=True)
        assert found.bound <= max(guess * (1 + 1e-9), optimum * (1 + 1e-9))
        leaf = Leaf(in_parts.bound, state)
        leaf.take(found, 1e6)
        assert leaf.value <= optimum * (1 + 1e-9)


def test_a_guess_that_nothing_exceeds_is_not_taken_for_proven() -> None:
    # Where no claim is worth anything, a program proves as much as it is told, and that is a guess.
    leaf = looked_at(alike(11, 3, 2), 30.0, guesses=0)
    before = leaf.value
    assert leaf.claims is not None
    nothing = np.zeros_like(leaf.claims.multiplier)
    told = leaf.claims._replace(bound=25.0, known=25.0, multiplier=nothing)
    assert not leaf.take(told, 30.0)
    assert leaf.value == before


@pytest.mark.parametrize("seed", range(4))
def test_a_rounded_window_holds_for_whatever_whole_tasks_are_in_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(500):
        work = rng.integers(1, 30, 12) / rng.integers(1, 4)
        known, unit = float(rng.integers(20, 90)), float(rng.choice(work))
        given, each = counted(work, known, known, unit)
        with interpreting():
            by = rounding_of(known, 0.0, 0.0, unit)
            assert each == pytest.approx([in_whole_tasks(float(one), by) for one in work])
        inside = rng.random((50, 12)) < rng.random((50, 1))
        makespan = np.maximum(known, inside @ work)
        assert (given + inside @ each <= makespan * (1 + 1e-6)).all()


def test_certificates_that_round_wrongly_are_refused() -> None:
    instance = alike(11, 3, 2)
    leaf = looked_at(instance, 30.0, guesses=12)
    last = sum_of(leaf.sums[-1])
    assert any(row.unit for row in last.windows)
    good = Certificate(leaf.value, 30.0, Case(sums=(last,)))
    verify(instance, good)  # all that is needed, since what it guesses need not be proven

    def with_sum(changed: Sum) -> Certificate:
        return replace(good, case=Case(sums=(changed,)))

    def with_units(unit: float) -> Certificate:
        rows: list[Window] = [replace(row, unit=unit) if row.unit else row for row in last.windows]
        return with_sum(replace(last, windows=tuple(rows)))

    for wrong in (-3.0, float("nan"), float("inf")):
        with pytest.raises(InvalidCertificate, match="unit"):
            verify(instance, with_units(wrong))
    for wrong in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidCertificate, match="for known"):
            verify(instance, with_sum(replace(last, known=wrong)))
    # A guess that is not exceeded proves nothing, however long it is.
    with pytest.raises(InvalidCertificate, match="proves only"):
        verify(instance, with_sum(replace(last, known=19.0)))
