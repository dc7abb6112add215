"""What runs hold, tasks that are kept back until they are needed, and plans that hold less."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.measures import admission as admissions
from orchestrator_core.execute.measures.admission import admission
from orchestrator_core.execute.measures.withholding import just_in_time
from orchestrator_core.execute.simulate import simulate_default, simulate_placed
from orchestrator_core.execute.simulate.footprint import footprint
from orchestrator_core.execute.simulate.outcome import schedule_of
from orchestrator_core.execute.simulate.rehearsal import LAG, Rehearsal
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from tests.execute.memory_graphs import CHUNK, stream, tree
from tests.strategies import instances, serial_schedule, unit_edges


def fastest(instance: Instance) -> Schedule:
    """A list schedule, longest path first: what plans for the makespan look like."""
    from orchestrator_core.plan.engine.expand import expand
    from orchestrator_core.plan.engine.modes import best_seconds
    from orchestrator_core.plan.engine.ranks import ready_order, upward_rank

    problem = expand(instance)
    rank = upward_rank(problem, best_seconds(problem).mean(axis=1), 0.0, 0.0)
    found = place(instance, Choice(ready_order(problem, rank)))
    assert isinstance(found, Schedule)
    return found


def peak_by_hand(instance: Instance, schedule: Schedule) -> float:
    """The most bytes of outputs and copies, by looking at every moment at which one appears."""
    graph = instance.graph
    row = {(a.task, a.instance): a for a in schedule.assignments}
    last: dict[tuple[str, int], float] = {}
    for a, q, b, r, _ in unit_edges(graph):
        unit = (graph.names[a], q)
        last[unit] = max(last.get(unit, 0.0), row[graph.names[b], r].end)
    until = {unit: last.get(unit, schedule.makespan) for unit in row}
    size = {name: graph.output_bytes[i] for i, name in enumerate(graph.names)}
    read = {graph.names[i] for i in graph.consumer.tolist()}
    takes = {a.task for a in schedule.assignments if a.end > a.start}
    held = [
        (a.end, until[unit], size[a.task])
        for unit, a in row.items()
        if a.task in read | takes  # what takes no time and reads nothing was there before
    ]
    held += [(t.end, until[t.task, t.instance], size[t.task]) for t in schedule.transfers]
    # What a task has made is there before its inputs go.
    return max(
        (sum(n for since, end, n in held if since <= at <= end + 1e-12) for at, _, _ in held),
        default=0.0,
    )


class TestFootprint:
    """``a`` (10 bytes) is made on w0 and used there until 3 s, and on w1 until 5 s."""

    INSTANCE = Instance.from_arrays(
        [[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]],
        [(0, 1, 10.0), (0, 2, 10.0)],
        seconds_per_byte=0.2,
        output_bytes=[10.0, 1.0, 1.0],
        task_names=["a", "here", "there"],
        memory=12.0,
    )
    SCHEDULE = Schedule(
        [
            Assignment("a", "w0", 0.0, 1.0),
            Assignment("here", "w0", 1.0, 3.0),
            Assignment("there", "w1", 3.0, 5.0),
        ],
        [Transfer("a", "w0", "w1", 1.0, 1.0, 3.0, 10.0)],
    )

    def test_copies_and_results_count_until_the_last_use_anywhere(self) -> None:
        # At 5 s: a twice, and both results.
        taken = footprint(self.INSTANCE, self.SCHEDULE)
        assert taken.peak == 22.0
        assert taken.fits

    def test_room_is_judged_for_each_worker(self) -> None:
        assert not footprint(tree(2, memory=2.5 * CHUNK), _on_one_worker(tree(2))).fits
        assert footprint(tree(2, memory=3.5 * CHUNK), _on_one_worker(tree(2))).fits

    def test_the_largest_part_of_a_workers_memory(self) -> None:
        """Two loads and what they are merged into; without limits there is no part of them."""
        schedule = _on_one_worker(tree(2))
        small = footprint(tree(2, memory=3.5 * CHUNK), schedule)
        assert small.share == pytest.approx(3 / 3.5, rel=1e-3)
        assert math.isnan(footprint(tree(2), schedule).share)

    @given(instance=instances(encode=True, counts=True), seed=st.integers(0, 1000))
    def test_it_is_what_one_counts_by_hand(self, instance: Instance, seed: int) -> None:
        schedule = serial_schedule(instance, np.random.default_rng(seed))
        expected = peak_by_hand(instance, schedule)
        assert footprint(instance, schedule).peak == pytest.approx(expected)


def _on_one_worker(instance: Instance) -> Schedule:
    from orchestrator_core.plan.engine.expand import expand

    order = np.array(expand(instance).topological)
    found = place(instance, Choice(order, worker=np.zeros(len(order), dtype=np.int64)))
    assert isinstance(found, Schedule)
    return found


class TestLag:
    def test_a_worker_produces_once_more_before_it_hears_what_it_may_consume(self) -> None:
        """load-0 and load-1 are done at 0.2 s; load-2 begins before the merge is known."""
        instance = tree(4)
        plan = _in_this_order(instance, ["load-0", "load-1", "merge1-0", "load-2", "load-3"])
        promised = {a.task: a.start for a in simulate_placed(instance, plan).assignments}
        lagging = schedule_of(Rehearsal(instance, plan, lag=0.01).run())
        found = {a.task: a.start for a in lagging.assignments}
        assert promised["merge1-0"] < promised["load-2"]
        assert found["load-2"] < found["merge1-0"]
        assert footprint(instance, lagging).peak == 4 * CHUNK + 600

    def test_without_lag_it_is_a_rehearsal(self) -> None:
        instance = tree(8)
        plan = fastest(instance)
        assert Rehearsal(instance, plan, lag=0.0).makespan() == pytest.approx(
            Rehearsal(instance, plan).makespan()
        )


def _in_this_order(instance: Instance, names: list[str]) -> Schedule:
    """All tasks on the fastest worker: what is not named comes as early or as late as it can."""
    graph = instance.graph
    named = [graph.index[name] for name in names]
    rest = [i for i in graph.topological.tolist() if i not in named]
    first = [i for i in rest if graph.names[i].startswith("index")]
    order = np.array(first + named + [i for i in rest if i not in first])
    found = place(instance, Choice(order, worker=np.zeros(len(order), dtype=np.int64)))
    assert isinstance(found, Schedule)
    return found


class TestJustInTime:
    INSTANCE = stream(20)

    @functools.cached_property
    def plan(self) -> Schedule:
        return fastest(self.INSTANCE)

    def test_loads_follow_the_pace_of_the_chain(self) -> None:
        rehearsal = Rehearsal(self.INSTANCE, self.plan)
        loop = rehearsal.run()
        holds = just_in_time(rehearsal, loop, margin=0.1)
        held = simulate_placed(self.INSTANCE, self.plan, holds=holds)
        assert footprint(self.INSTANCE, schedule_of(loop)).peak > 10 * CHUNK
        assert footprint(self.INSTANCE, held).peak < 5 * CHUNK
        assert held.makespan == pytest.approx(loop.makespan)

    def test_a_late_chain_holds_the_loads_longer(self) -> None:
        """Steps take half as long again as believed: no more is held for it."""
        rehearsal = Rehearsal(self.INSTANCE, self.plan)
        holds = just_in_time(rehearsal, rehearsal.run(), margin=0.1)
        kinds = np.array([name.startswith("step") for name in self.INSTANCE.graph.names])
        slow = self.INSTANCE.seconds * np.where(kinds, 1.5, 1.0)[:, None]
        late = simulate_placed(self.INSTANCE, self.plan, slow, holds=holds)
        assert footprint(self.INSTANCE, late).peak < 5 * CHUNK
        assert late.makespan == pytest.approx(
            simulate_placed(self.INSTANCE, self.plan, slow).makespan, rel=0.02
        )

    def test_only_what_adds_to_what_is_held_waits(self) -> None:
        rehearsal = Rehearsal(self.INSTANCE, self.plan)
        holds = just_in_time(rehearsal, rehearsal.run(), margin=0.1)
        assert holds
        assert all(name.startswith("load") for name in holds)

    def test_what_is_needed_at_once_is_not_held(self) -> None:
        instance = tree(8)
        rehearsal = Rehearsal(instance, _on_one_worker(instance))
        assert just_in_time(rehearsal, rehearsal.run(), margin=0.1) == {}

    def test_patience_outlasts_the_planned_wait(self) -> None:
        rehearsal = Rehearsal(self.INSTANCE, self.plan)
        loop = rehearsal.run()
        end = {a.task: a.end for a in schedule_of(loop).assignments}
        for hold in just_in_time(rehearsal, loop, margin=0.1).values():
            assert hold.patience >= 2.0
            assert all(hold.patience >= end[str(key)] for key in hold.done)

    @given(instance=instances(encode=True), seed=st.integers(0, 1000))
    def test_the_run_comes_to_its_end_by_the_rules(self, instance: Instance, seed: int) -> None:
        plan = serial_schedule(instance, np.random.default_rng(seed))
        rehearsal = Rehearsal(instance, plan)
        holds = just_in_time(rehearsal, rehearsal.run(), margin=0.0)
        check_schedule(instance, simulate_placed(instance, plan, holds=holds))


class TestAdmission:
    def test_a_tree_is_reduced_where_it_is_made(self) -> None:
        """The goal: at most half of the bytes that plain Dask holds, in at most 1.05 of its time;
        a plan for the makespan alone holds far more."""
        instance = tree(128)
        plan = fastest(instance)
        found = admission(instance, plan)
        plain = simulate_default(instance)
        assert found.plain_peak == footprint(instance, plain).peak
        assert found.planned_peak > 2 * found.plain_peak
        assert found.peak <= 0.5 * found.plain_peak
        assert found.makespan <= 1.05 * plain.makespan
        check_schedule(instance, found.schedule)

    def test_who_looks_at_few_looks_at_the_thriftiest(self) -> None:
        instance = tree(128)
        plan = fastest(instance)
        assert admission(instance, plan, most=2).peak <= 1.1 * admission(instance, plan).peak

    def test_a_small_gain_in_time_is_given_up_where_all_that_is_quicker_holds_far_more(
        self,
    ) -> None:
        """Each task costs 60 ms more wherever it runs: whoever keeps together what belongs
        together is 10 % slower than the fastest plan, and takes as long as Dask alone."""
        instance = tree(128)
        instance = replace(instance, seconds=instance.seconds + 0.06)
        plan, plain = fastest(instance), simulate_default(instance)
        for most in (None, 2):
            found = admission(instance, plan, most=most)
            assert found.planned_peak > 5 * found.plain_peak
            assert found.peak < 0.9 * found.plain_peak
            assert 1.05 * plan.makespan < found.makespan <= 1.03 * plain.makespan

    def test_a_gain_in_time_that_is_large_enough_is_kept(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same graph, if 4 % of Dask's time were enough."""
        instance = tree(128)
        instance = replace(instance, seconds=instance.seconds + 0.08)
        plan, plain = fastest(instance), simulate_default(instance)
        assert plan.makespan <= 0.96 * plain.makespan
        monkeypatch.setattr(admissions, "ENOUGH_GAIN", 0.04)
        assert admission(instance, plan).makespan <= 1.05 * plan.makespan

    @pytest.mark.parametrize(
        ("gain", "times"),
        [(-0.1, 1.25), (0.0, 1.25), (0.05, 1.5), (0.12, 2.2), (0.3, 4.0), (0.33, np.inf)],
    )
    def test_what_saves_more_time_may_hold_more(self, gain: float, times: float) -> None:
        assert admissions.allowed(gain) == pytest.approx(times)

    def test_its_figures_are_those_of_a_run(self) -> None:
        instance = tree(128)
        found = admission(instance, fastest(instance), lag=0.01)
        loop = Rehearsal(instance, found.schedule, 0.01).run(None, found.holds)
        assert found.makespan == loop.makespan
        assert found.peak == footprint(instance, schedule_of(loop)).peak

    def test_roots_that_are_needed_later_are_held(self) -> None:
        instance = stream(20)
        plan = fastest(instance)
        found = admission(instance, plan)
        assert found.schedule is plan
        assert found.holds
        assert found.peak <= 0.5 * found.planned_peak
        assert found.makespan <= 1.01 * Rehearsal(instance, plan, LAG).makespan()

    def test_small_data_are_not_worth_a_thought(self) -> None:
        instance = tree(64, chunk=1000.0)
        plan = fastest(instance)
        found = admission(instance, plan)
        assert found.schedule is plan
        assert not found.holds
        assert admission(instance, plan, least_peak=0.0).peak < 0.5 * found.planned_peak

    def test_small_data_count_where_they_do_not_fit(self) -> None:
        instance = tree(64, memory=20_000.0, chunk=1000.0)
        plan = fastest(tree(64, chunk=1000.0))
        assert not footprint(instance, plan).fits
        assert admission(instance, plan).fits

    def test_nothing_changes_where_nothing_is_gained(self) -> None:
        instance = tree(16)
        plan = _on_one_worker(instance)
        found = admission(instance, plan, least_peak=0.0)
        assert found.makespan <= 1.05 * Rehearsal(instance, plan, LAG).makespan()
        assert found.peak <= found.planned_peak

    @given(instance=instances(any_constraints=True), seed=st.integers(0, 1000))
    def test_any_plan_may_be_given(self, instance: Instance, seed: int) -> None:
        plan = serial_schedule(instance, np.random.default_rng(seed))
        found = admission(instance, plan, least_peak=0.0)
        assert found.peak <= found.planned_peak or found.fits
        simulate_placed(instance, found.schedule, holds=found.holds)
