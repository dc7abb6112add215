"""Whole tasks on workers: what does not fit is said not to, and nothing else is."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidCertificate
from orchestrator_core.plan.bounds.certificate import Case, Certificate, Packing, Sum, Window
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.bounds.ladder import Ladder
from orchestrator_core.plan.bounds.packing import packed, rooms_until
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.repack import held_by_each
from orchestrator_core.plan.bounds.state import State, propagate
from orchestrator_core.plan.bounds.windows import fit
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Assignment, Schedule


def on_alike(seconds: list[float], workers: int, edges: list[tuple[int, int, float]]) -> Instance:
    """Tasks of these seconds on workers that are alike; nothing takes time on its way."""
    return Instance.from_arrays(np.repeat(np.array(seconds)[:, None], workers, axis=1), edges)


def known(instance: Instance, upper: float) -> tuple[Relaxation, State]:
    problem = expand(instance)
    state = propagate(problem, upper)
    assert state is not None
    return Relaxation.of(problem), state


def why(instance: Instance, upper: float, limit: float) -> Packing | None:
    relaxation, state = known(instance, upper)
    return packed(relaxation, state, None, limit)


def certificate(packing: Packing, upper: float) -> Certificate:
    return Certificate(packing.limit * (1 - 1e-8), upper, Case(packing=packing))


def three_long_ones() -> Instance:
    """Three tasks of 5 s and one of 1 s on two workers: one has two of the long ones, so 10 s; if
    they could be split, 8 s."""
    return on_alike([5, 5, 5, 1], 2, [])


def test_two_of_three_long_tasks_share_a_worker() -> None:
    found = why(three_long_ones(), 11.0, 10.0)
    assert found is not None
    assert verify(three_long_ones(), certificate(found, 11.0)) == pytest.approx(10.0)
    assert why(three_long_ones(), 11.0, 10.01) is None  # since they fit in 10 s


def test_tails_of_their_own_leave_less_room() -> None:
    # Four tasks of 4 s on two workers, a follower of 3 s after each: in 14 s they fit if split,
    # but the second of a worker's two ends at 8 s, then one follower, 11 s, then the other, 14 s.
    instance = on_alike([4] * 4 + [3] * 4, 2, [(t, t + 4, 0) for t in range(4)])
    assert why(instance, 15.0, 14.0) is not None
    assert why(instance, 15.0, 14.01) is None


def test_a_shared_start_counts_once_for_each_worker() -> None:
    # After 1 s, seven tasks of 3 s on three workers: one has three of them, 10 s; split, 8 s.
    instance = on_alike([1] + [3] * 7, 3, [(0, t, 0) for t in range(1, 8)])
    relaxation, state = known(instance, 12.0)
    claims = fit(relaxation, state, np.arange(8), known=4.0)
    found = packed(relaxation, state, claims, 10.0)
    assert found is not None
    assert 0 not in found.tasks  # which begins before that
    assert verify(instance, certificate(found, 12.0)) == pytest.approx(10.0)


def random_ones(seeds: range) -> list[Instance]:
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n, w = int(rng.integers(4, 8)), int(rng.integers(2, 4))
        seconds = rng.uniform(1, 9, (n, 1)) * rng.uniform(0.5, 2, (1 if seed % 2 else n, w))
        edges = [(0, t, float(rng.uniform(0, 2))) for t in range(1, n) if rng.random() < 0.5]
        found.append(Instance.from_arrays(seconds, edges, seconds_per_byte=float(seed % 3)))
    return found


def fits(relaxation: Relaxation, state: State, end: float) -> bool:
    """Can the tasks be dealt out so that each worker has room for its own? Tried one by one."""
    n, w = state.may.shape
    for where in itertools.product(range(w), repeat=n):
        if all(_has_room(relaxation, state, end, where, b) for b in range(w)):
            return True
    return False


def _has_room(
    relaxation: Relaxation, state: State, end: float, where: tuple[int, ...], b: int
) -> bool:
    own = [t for t, at in enumerate(where) if at == b]
    may = np.flatnonzero(state.may[:, b])
    if any(not state.may[t, b] for t in own):
        return False
    done = state.head[may, b].min(initial=np.inf)
    for t in sorted(own, key=lambda t: -state.tail[t, b]):
        done += relaxation.work[0, t, b]
        if done + state.tail[t, b] > end:
            return False
    return True


def test_what_is_said_not_to_fit_does_not() -> None:
    said = 0
    for instance in random_ones(range(100)):
        least = float(instance.seconds.min(axis=1).sum()) / instance.seconds.shape[1]
        for limit in (1.1 * least, 1.3 * least, 1.6 * least):
            problem = expand(instance)
            state = propagate(problem, limit)
            if state is None:
                continue
            relaxation = Relaxation.of(problem)
            found = packed(relaxation, state, None, limit)
            # Heads may be what counts exactly, instead of tails; then more is said than tails say.
            if found is not None and _tails_count(state):
                said += 1
                assert not fits(relaxation, state, limit * (1 - 1e-9))
    assert said >= 10


def _tails_count(state: State) -> bool:
    spreads = [
        (np.ptp(state.head[may, b]), np.ptp(state.tail[may, b]))
        for b in range(state.may.shape[1])
        if (may := state.may[:, b]).any()
    ]
    return all(head <= tail for head, tail in spreads)


def test_the_checker_finds_the_same_room() -> None:
    for instance in random_ones(range(20)):
        relaxation, state = known(instance, 60.0)
        tasks = np.arange(len(state.may))
        end = 0.5 * float(instance.seconds.max(axis=1).sum())
        prices = np.random.default_rng(len(tasks)).integers(1, 9, len(tasks))
        rooms = rooms_until(relaxation, state, tasks, end)
        packing = Packing(60.0, tuple(tasks.tolist()), tuple(prices.tolist()))
        for b, held in enumerate(held_by_each(relaxation, state, packing, end)):
            low, high = rooms.first[b : b + 2]
            each, work, due = rooms.task[low:high], rooms.work[low:high], rooms.due[low:high]
            # The checker also looks the other way round, and takes what is less.
            assert held <= dearest_by_trying(prices[each], work, due)


def dearest_by_trying(price: np.ndarray, work: np.ndarray, due: np.ndarray) -> int:
    best = 0
    for chosen in itertools.product([False, True], repeat=len(price)):
        own = np.array(chosen, dtype=bool)
        if (np.cumsum(work[own]) <= due[own]).all():  # by due date already
            best = max(best, int(price[own].sum()))
    return best


def test_a_better_schedule_is_tried_to_be_proven_at_once() -> None:
    # Two of three tasks of about 5.1 s share a worker: 10.1 s. That is not among the limits that
    # are tried while the best schedule has one task after the other, but others are near it.
    seconds = [5.0, 5.1, 5.2, 1.0, 0.7, 0.3]
    ends = np.cumsum(seconds)
    slow = Schedule(
        Assignment(f"t{t}", "w0", ends[t] - each, ends[t]) for t, each in enumerate(seconds)
    )
    brief = Brief(on_alike(seconds, 2, []), Budget(iterations=60), incumbent=slow)
    said: list[Proposal] = []
    suggested = []
    for proposal in Ladder().plan(brief):
        said.append(proposal)
        if proposal.schedule is not None:
            suggested.append(proposal.schedule)
        if len(suggested) == 2:  # the last time before cases are told apart
            assert 10.0 < max(each.lower_bound for each in said) < 10.1
            brief.incumbent = suggested.pop()
    assert brief.incumbent is not None
    last = [each for each in said if each.lower_bound > 0][-1]
    assert last.lower_bound == brief.incumbent.makespan == pytest.approx(10.1)
    assert last.method.startswith("whole tasks")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"limit": 10.5}, "hold"),
        ({"limit": -1.0}, "limit"),
        ({"limit": float("nan")}, "limit"),
        ({"prices": (1, 1)}, "one price"),
        ({"tasks": (0, 0, 2)}, "once"),
        ({"tasks": (0, 1, 9)}, "no task 9"),
        ({"prices": (3, 0, 3)}, "price"),
        ({"prices": (3, -2, 3)}, "price"),
        ({"prices": (9, 1, 1)}, "hold"),
        ({"prices": (10**30, 1, 1)}, "add up to"),
    ],
)
def test_a_packing_that_proves_nothing_is_refused(change: dict[str, object], word: str) -> None:
    right = Packing(10.0, (0, 1, 2), (1, 1, 1))
    assert verify(three_long_ones(), certificate(right, 11.0)) == pytest.approx(10.0)
    wrong = replace(certificate(right, 11.0), case=Case(packing=replace(right, **change)))
    with pytest.raises(InvalidCertificate, match=word):
        verify(three_long_ones(), wrong)


def test_a_sum_may_build_on_a_packing() -> None:
    # Of the 16 s of work each worker has to do 0.4 parts, and the rest is what is known: 7 s, since
    # no worker can do two of the long tasks in that time, 5 s without it. 6.4 + 0.2 x 7 = 7.8.
    packing = Packing(7.0, (0, 1, 2), (1, 1, 1))
    windows = tuple(Window(0, worker, 0.0, 0.0, 0.4) for worker in (0, 1))
    case = Case(packing=packing, sums=(Sum(windows, ()),))
    bound = 7.8 * (1 - 1e-8)
    assert verify(three_long_ones(), Certificate(bound, 11.0, case)) == pytest.approx(7.8)
    with pytest.raises(InvalidCertificate, match=r"proves only 7\.3999"):
        verify(three_long_ones(), Certificate(bound, 11.0, replace(case, packing=None)))


def test_it_survives_json_and_has_a_name() -> None:
    right = certificate(Packing(10.0, (0, 1, 2), (1, 1, 1)), 11.0)
    assert Certificate.from_json(right.to_json()) == right
    assert right.kind == "packing"
