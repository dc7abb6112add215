"""The ladder: never above an optimum, and every bound with a certificate that holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, InvalidCertificate, UnsupportedInstance
from orchestrator_core.plan.bounds import lower_bound
from orchestrator_core.plan.bounds.certificate import Certificate, Exclude, Raise, Step
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.bounds.ladder import Ladder
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.time_indexed import optimal_makespan
from tests.plan.tiny import tiny_instances

JUST_BELOW = 1e-9


def climbed(brief: Brief) -> list[Proposal]:
    """All that the ladder says, with what it finds handed back to it."""
    said = []
    for proposal in Ladder().plan(brief):
        said.append(proposal)
        if proposal.schedule is not None:
            check_schedule(brief.instance, proposal.schedule)
            brief.incumbent = proposal.schedule
    return said


def start(instance: Instance, iterations: int = 40) -> Brief:
    schedule = next(LIST_PLANNERS[0].plan(Brief(instance))).schedule
    return Brief(instance, Budget(iterations=iterations), incumbent=schedule)


def hard() -> Instance:
    """A random graph on unrelated workers, with slow links."""
    rng = np.random.default_rng(3)
    edges = [
        (int(rng.integers(max(0, j - 5), j)), j, float(rng.integers(1, 9))) for j in range(2, 24)
    ]
    seconds = rng.integers(1, 9, (24, 3)).astype(float)
    return Instance.from_arrays(seconds, edges, latency=0.5, seconds_per_byte=0.5)


def wide() -> Instance:
    """Eight tasks of 1 to 3 s between one of 5 s before and one of 5 s after, on two workers."""
    seconds = np.repeat([5.0, 1, 2, 3, 1, 2, 3, 1, 2, 5], 2).reshape(10, 2)
    edges = [(0, i, 0) for i in range(1, 9)] + [(i, 9, 0) for i in range(1, 9)]
    return Instance.from_arrays(seconds, edges, latency=0.25)


def hubs() -> Instance:
    """Twenty tasks between two on four unrelated workers, with slow links: it matters where the two
    run, and there is too much work for it to be told by cut edges."""
    rng = np.random.default_rng(3)
    seconds = rng.integers(2, 9, (22, 4)).astype(float)
    edges = [(0, i, float(rng.integers(1, 9))) for i in range(1, 21)]
    edges += [(i, 21, float(rng.integers(1, 9))) for i in range(1, 21)]
    return Instance.from_arrays(seconds, edges, latency=0.25, seconds_per_byte=0.5)


def solved(seeds: range) -> Iterator[tuple[int, Instance, float, Brief]]:
    """(seed, instance, optimum, a brief whose incumbent is optimal for every other seed)."""
    for seed, instance in tiny_instances(seeds):
        try:
            optimum = optimal_makespan(instance, 1.0)
        except (UnsupportedInstance, InfeasibleInstance):
            continue
        brief = start(instance)
        if seed % 2 or brief.incumbent is None:
            brief.incumbent = optimum.schedule
        yield seed, instance, optimum.makespan, brief


@pytest.mark.parametrize(
    "first", [0, 300, *(pytest.param(n, marks=pytest.mark.slow) for n in (100, 200))]
)
def test_no_rung_exceeds_the_optimum(first: int) -> None:
    for seed, instance, optimum, brief in solved(range(first, first + 50)):
        for proposal in climbed(brief):
            assert proposal.lower_bound <= optimum * (1 + JUST_BELOW), f"seed {seed}"
            if proposal.certificate is not None:
                assert verify(instance, proposal.certificate) <= optimum * (1 + JUST_BELOW)


def test_the_bound_of_an_optimal_schedule_meets_it_mostly() -> None:
    met, proven = 0, 0
    for _, _, optimum, brief in solved(range(1, 61, 2)):
        best = max((p.lower_bound for p in climbed(brief)), default=0.0)
        met, proven = met + 1, proven + (best >= optimum * (1 - JUST_BELOW))
    assert proven >= 0.7 * met > 0


def test_every_bound_comes_with_a_certificate_that_survives_json() -> None:
    kinds = set()
    for instance in (hard(), wide(), hubs()):
        brief = start(instance, 400)
        assert brief.incumbent is not None
        for proposal in climbed(brief):
            if proposal.certificate is not None:
                kinds.add(proposal.certificate.kind)
                again = Certificate.from_json(proposal.certificate.to_json())
                assert again == proposal.certificate
                # More than it says, where a sum was made before heads that it counts were raised.
                proven = verify(instance, again)
                assert proposal.lower_bound * (1 - 1e-6) <= proven
                assert proven <= brief.incumbent.makespan
            else:
                assert proposal.lower_bound == 0
    assert kinds >= {"paths", "windows", "packing", "cuts", "tree"}


def test_bounds_rise_and_say_how() -> None:
    said = [p for p in climbed(start(hard())) if p.lower_bound > 0]
    bounds = [p.lower_bound for p in said]
    assert bounds == sorted(bounds)
    assert all(p.method for p in said)


def test_what_is_proven_to_the_end_is_said_once() -> None:
    said = [p.lower_bound for p in climbed(start(wide(), 400)) if p.lower_bound > 0]
    assert said.count(18.0) == 1
    # 15 s of whole seconds on two workers, so 8 s, between 5 s alone and 5 s alone.
    assert said[-1] == 18.0


def test_a_better_schedule_may_come_at_any_step() -> None:
    """A fork and a join around seven long tasks on three workers, in 32 s. Where nothing is left to
    look at then, the ladder went on looking, and broke."""
    edges = [(0, t, 1.0) for t in range(1, 8)] + [(t, 8, 1.0) for t in range(1, 8)]
    seconds = [[1.0] * 3, *([10.0 + t % 2] * 3 for t in range(7)), [1.0] * 3]
    instance = Instance.from_arrays(seconds, edges, seconds_per_byte=0.5)
    best = plan(instance, Budget(seconds=60.0, iterations=2_000), ["heft", "local-search"]).schedule
    assert best.makespan == 32.0
    for step in range(40):
        brief, said = start(instance, 400), []
        for number, proposal in enumerate(Ladder().plan(brief)):
            said.append(proposal.lower_bound)
            if number == step:
                brief.incumbent = best
        assert max(said) <= 32.0


def test_steps_give_the_same_bytes() -> None:
    def certificates() -> list[bytes]:
        said = climbed(start(hard(), 60))
        return [p.certificate.to_json() for p in said if p.certificate is not None]

    assert certificates() == certificates()


def test_the_cheap_bound_has_a_certificate_for_all_schedules() -> None:
    instance = hard()
    bound = lower_bound(instance)
    assert bound.certificate is not None
    assert bound.certificate.upper is None
    assert verify(instance, bound.certificate) == pytest.approx(bound.seconds)


def last_of(instance: Instance) -> Certificate:
    found = [p.certificate for p in climbed(start(instance, 400)) if p.certificate is not None]
    return found[-1]


@pytest.mark.parametrize("more", [1e-2, 1e-6, 1e-7])
def test_a_bound_that_is_claimed_too_high_is_refused(more: float) -> None:
    certificate = last_of(hard())
    proven = verify(hard(), certificate)
    with pytest.raises(InvalidCertificate, match="but proves only"):
        verify(hard(), replace(certificate, bound=proven * (1 + more)))


def test_a_missing_case_is_refused() -> None:
    certificate = last_of(hubs())
    case = certificate.case
    assert certificate.kind == "tree"
    short = replace(case, workers=case.workers[1:], cases=case.cases[1:])
    with pytest.raises(InvalidCertificate, match="no case has task"):
        verify(hubs(), replace(certificate, case=short))


@pytest.mark.parametrize("multiplier", [-0.5, 1.5, math.nan, math.inf])
def test_multipliers_that_prove_nothing_are_refused(multiplier: float) -> None:
    bound = lower_bound(wide())
    assert bound.certificate is not None
    case = bound.certificate.case
    row = replace(case.sums[0].windows[0], multiplier=multiplier)
    changed = replace(case.sums[0], windows=(row, *case.sums[0].windows[1:]))
    with pytest.raises(InvalidCertificate, match="multiplier"):
        verify(wide(), replace(bound.certificate, case=replace(case, sums=(changed,))))


def test_an_exclusion_without_a_reason_is_refused() -> None:
    certificate = last_of(hard())
    wrong = Step(excluded=(Exclude(0, 0), Exclude(0, 1), Exclude(0, 2)))
    case = replace(certificate.case, steps=(wrong,))
    with pytest.raises(InvalidCertificate, match="without a contradiction"):
        verify(hard(), replace(certificate, upper=1e6, case=case))


def test_a_head_that_is_raised_too_far_is_refused() -> None:
    certificate = last_of(hard())
    raised = Raise(23, 0, True, value=certificate.bound, limit=1e6, sum=None)
    case = replace(certificate.case, steps=(Step(raised=(raised,)),))
    with pytest.raises(InvalidCertificate, match="is said to wait"):
        verify(hard(), replace(certificate, upper=1e6, case=case))


def test_what_is_not_there_is_refused() -> None:
    certificate = last_of(hard())
    case = replace(certificate.case, steps=(Step(excluded=(Exclude(99, 0),)),))
    with pytest.raises(InvalidCertificate, match="there is no task 99"):
        verify(hard(), replace(certificate, case=case))


def test_the_certificate_of_another_instance_is_refused() -> None:
    fast = Instance.from_arrays(np.ones((24, 3)), [])
    with pytest.raises(InvalidCertificate):
        verify(fast, last_of(hard()))


def test_it_bounds_the_makespan_only() -> None:
    assert Ladder().unsupported(hard(), Objective.of("price")) is not None
    assert Ladder().unsupported(hard()) is None


def test_without_a_schedule_it_says_so() -> None:
    assert "needs a schedule" in next(Ladder().plan(Brief(hard()))).note
