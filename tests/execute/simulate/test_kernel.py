"""The parts of the compiled simulator, interpreted: heaps, the table, and room that runs out."""

from __future__ import annotations

import heapq
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate import rehearsal, room, unplanned
from orchestrator_core.execute.simulate.kernel import events, lines, sent, state
from orchestrator_core.execute.simulate.kernel.depth_first import depth_first
from orchestrator_core.execute.simulate.kernel.job import job_of
from orchestrator_core.execute.simulate.kernel.planned import run_planned
from orchestrator_core.execute.simulate.kernel.unplanned import run_unplanned
from orchestrator_core.execute.simulate.outcome import Outcome
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.execute.simulate.unplanned import Unplanned, simulate_default
from orchestrator_core.plan.engine.compiled import interpreted
from orchestrator_core.plan.engine.expand import expand
from tests.strategies import instances, serial_schedule

UNITS, WORKERS = 12, 3


def fresh(most: int = 8) -> state.State:
    """12 units of priorities 11 down to 0, on 3 workers; nothing has happened."""
    instance = Instance.from_arrays(np.ones((UNITS, WORKERS)), [])
    modes = np.arange(UNITS)
    job = job_of(expand(instance), modes, modes[::-1])
    beginning: state.State = interpreted(state.beginning)(job, most)
    return beginning


def told(run: Outcome) -> tuple[Any, ...]:
    """Where and when all was."""
    return run.worker, run.start, run.end, run.transfers


@given(st.lists(st.tuples(st.sampled_from(["join", "first", "leave"]), st.integers(0, UNITS - 1))))
def test_a_line_is_a_queue_by_priority(steps: list[tuple[str, int]]) -> None:
    s, inside = fresh(), set[int]()
    join, first, leave = map(interpreted, (lines.join, lines.take_first, lines.leave))
    for step, unit in steps:
        if step == "join" and unit not in inside:
            join(s, 1, unit)
            inside.add(unit)
        elif step == "leave" and unit in inside:
            leave(s, 1, unit)
            inside.remove(unit)
        elif step == "first":
            # The highest unit has the smallest priority.
            found = max(inside, default=-1)
            assert first(s, 1) == found
            inside.discard(found)
    assert [first(s, 1) for _ in inside] == sorted(inside, reverse=True)
    assert first(s, 1) == -1


@given(st.lists(st.none() | st.sampled_from([0.0, 0.5, 1.0, 2.0]), max_size=30))
def test_events_come_by_time_and_then_as_they_were_noted(steps: list[float | None]) -> None:
    s, expected = fresh(), list[tuple[float, int]]()
    note, following = interpreted(events.note), interpreted(events.next_event)
    for number, moment in enumerate([*steps, *[None] * len(steps)]):
        if moment is not None:
            note(s, moment, 7, number)
            heapq.heappush(expected, (moment, number))
        elif expected:
            assert s.moment[0] == expected[0][0]
            assert following(s) == 7
            assert s.number[state.ABOUT] == heapq.heappop(expected)[1]


@given(st.lists(st.tuples(st.integers(0, UNITS - 1), st.integers(0, WORKERS - 1)), unique=True))
def test_a_transfer_is_found_by_what_and_where_to(pairs: list[tuple[int, int]]) -> None:
    s = fresh(most=UNITS * WORKERS)
    numbers = {pair: interpreted(sent.new_transfer)(s, *pair) for pair in pairs}
    for unit in range(UNITS):
        for worker in range(WORKERS):
            found = interpreted(sent.transfer_of)(s, unit, worker)
            assert found == numbers.get((unit, worker), -1)
    assert not s.number[state.FULL]


def test_what_there_is_no_room_for_is_said() -> None:
    s = fresh(most=1)
    interpreted(sent.new_transfer)(s, 0, 1)
    assert not s.number[state.FULL]
    interpreted(sent.new_transfer)(s, 0, 2)
    assert s.number[state.FULL]


@settings(max_examples=20)
@given(
    instance=instances(
        threads=True, encode=True, counts=True, release=True, eligible=True, resources=True
    ),
    seed=st.integers(0, 99),
)
def test_interpreted_and_compiled_runs_are_the_same(instance: Instance, seed: int) -> None:
    plan = serial_schedule(instance, np.random.default_rng(seed))
    with pytest.MonkeyPatch.context() as patch:
        runs = [told(Unplanned(instance).run(seed)), told(Rehearsal(instance, plan).run())]
        for module in (unplanned, rehearsal):
            patch.setattr(module, "at_once", lambda run, *args: interpreted(run)(*args))
        assert [told(Unplanned(instance).run(seed)), told(Rehearsal(instance, plan).run())] == runs


@given(instance=instances(any_constraints=True, memory=False, deadline=False, stock=False))
def test_one_machine_code_is_enough_for_all_instances(instance: Instance) -> None:
    """What was compiled ahead of time serves; else some run would wait for a compiler."""
    plan = simulate_default(instance)
    again = Rehearsal(instance, plan).run(instance.seconds * 1.5, prefetch=True)
    assert again.makespan >= 0
    for kernel in (run_planned, run_unplanned, depth_first):
        assert len(cast(Any, kernel).machine.signatures) == 1


@given(instance=instances(max_tasks=30, counts=True, encode=True), seed=st.integers(0, 99))
def test_a_run_that_finds_too_little_room_begins_again(instance: Instance, seed: int) -> None:
    plenty = simulate_default(instance, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "AT_FIRST", 0)
        assert simulate_default(instance, seed=seed) == plenty
