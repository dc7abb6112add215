"""The exam that every `Store` takes; `Store`'s docstring is the law that it asks about.

A test class derives from `StoreContract` and says how an empty store is made.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from orchestrator_core.errors import StoreError, UnknownRun
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.store.base import ScheduleKey, Store, StoredFinding
from tests.store.records import KEY, a_cluster, a_plan, a_record, a_run, a_schedule, stored

Make = Callable[..., Store]


class StoreContract:
    """Derive, and give a fixture `make` that makes empty stores."""

    @pytest.fixture
    def make(self) -> Make:
        raise NotImplementedError

    @pytest.fixture
    def store(self, make: Make) -> Iterator[Store]:
        store = make()
        yield store
        store.close()

    # schedules

    def test_an_empty_store_answers_with_nothing(self, store: Store) -> None:
        assert store.find(KEY) is None
        assert store.find_near(KEY) is None
        assert store.schedules() == []
        assert store.runs() == []
        assert store.latest_run("etl") is None
        assert store.clusters() == []
        assert store.observations(["load"]) == []
        assert store.costs("etl") is None
        assert store.finding("graph", "crowd") is None
        assert store.findings() == []
        assert store.dropped == 0

    def test_a_schedule_is_found_as_it_was_put(self, store: Store) -> None:
        assert store.put(stored())
        found = store.find(KEY)
        assert found is not None
        assert found.schedule == a_schedule()
        assert replace(found, hits=0, used_at=1000.0) == stored()

    @pytest.mark.parametrize("part", ScheduleKey.__slots__)
    def test_another_key_is_another_schedule(self, store: Store, part: str) -> None:
        store.put(stored())
        assert store.find(replace(KEY, **{part: "other"})) is None

    def test_the_better_schedule_wins(self, store: Store) -> None:
        assert store.put(stored(5.0))
        assert not store.put(stored(6.0))
        assert not store.put(stored(5.0))
        assert store.put(stored(4.0))
        found = store.find(KEY)
        assert found is not None
        assert (found.makespan, found.schedule.makespan) == (4.0, 4.0)

    def test_between_equal_makespans_the_better_proof_wins(self, store: Store) -> None:
        store.put(stored(5.0, lower_bound=2.0))
        assert store.put(stored(5.0, lower_bound=3.0, bound_method="CP-SAT"))
        assert not store.put(stored(5.0, lower_bound=2.5))
        found = store.find(KEY)
        assert found is not None
        assert found.bound_method == "CP-SAT"

    def test_hits_are_counted_and_survive_replacement(self, store: Store) -> None:
        store.put(stored(5.0))
        assert [store.find(KEY).hits for _ in range(3)] == [1, 2, 3]  # type: ignore[union-attr]
        store.put(stored(4.0))
        (kept,) = store.schedules()
        assert (kept.hits, kept.makespan) == (3, 4.0)

    def test_a_hit_is_a_use(self, store: Store) -> None:
        store.put(stored(used_at=1000.0))
        store.put(stored(key=replace(KEY, graph_signature="new"), used_at=2000.0))
        store.find(KEY)
        assert [s.key.graph_signature for s in store.schedules()] == ["graph", "new"]

    def test_a_near_hit_differs_only_in_its_cost_bucket(self, store: Store) -> None:
        store.put(stored(key=KEY))
        store.put(stored(key=replace(KEY, cost_bucket="old"), used_at=2000.0))
        store.put(stored(key=replace(KEY, cost_bucket="older"), used_at=1500.0))
        store.put(stored(key=replace(KEY, cluster_signature="other"), used_at=3000.0))
        near = store.find_near(KEY)
        assert near is not None
        assert near.key.cost_bucket == "old"
        assert near.hits == 0

    def test_schedules_can_be_chosen_and_limited(self, store: Store) -> None:
        for i in range(4):
            key = replace(KEY, graph_signature=f"g{i}")
            store.put(stored(key=key, used_at=1000.0 + i, flow=f"flow{i % 2}"))
        assert [s.key.graph_signature for s in store.schedules(limit=2)] == ["g3", "g2"]
        assert [s.key.graph_signature for s in store.schedules(flow="flow0")] == ["g2", "g0"]
        assert [s.flow for s in store.schedules(graph_signature="g1")] == ["flow1"]

    def test_schedules_used_longest_ago_are_forgotten(self, make: Make) -> None:
        store = make(keep_schedules=2)
        for i in range(4):
            store.put(stored(key=replace(KEY, graph_signature=f"g{i}"), used_at=1000.0 + i))
        assert [s.key.graph_signature for s in store.schedules()] == ["g3", "g2"]
        store.close()

    # findings

    def test_the_last_finding_about_a_graph_and_crowd_stays(self, store: Store) -> None:
        first = StoredFinding("graph", "crowd", b"first", 1000.0)
        others = [replace(first, crowd="other"), replace(first, graph_signature="other")]
        for found in (first, *others):
            store.put_finding(found)
        last = replace(first, text="größe".encode() * 1000, updated_at=2000.0)
        store.put_finding(last)
        assert store.finding("graph", "crowd") == last
        assert store.finding("graph", "other") == others[0]
        assert store.finding("none", "crowd") is None
        assert store.findings(limit=1) == [last]
        assert len(store.findings()) == 3

    def test_findings_written_longest_ago_are_forgotten(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("memory", "findings"):
            monkeypatch.setattr(f"orchestrator_core.store.{module}.KEEP_FINDINGS", 2)
        for i in range(4):
            store.put_finding(StoredFinding(f"g{i}", "crowd", b"text", 1000.0 + i))
        assert [found.graph_signature for found in store.findings()] == ["g3", "g2"]

    # runs

    def test_a_run_comes_back_as_it_was(self, store: Store) -> None:
        run = a_run()
        store.add_run(run)
        assert store.run(run.run_id) == run

    def test_a_run_without_a_plan_or_tasks_comes_back(self, store: Store) -> None:
        run = a_run(plan=None, mode="observed", tasks=(), notes=())
        store.add_run(run)
        assert store.run(run.run_id) == run

    def test_task_records_keep_every_field_and_their_order(self, store: Store) -> None:
        tasks = (
            a_record("b-1", attempt=1, status="failed", start=0.25, end=0.5),
            a_record("b-1", attempt=2, memory_peak=7e9, transfer_seconds=0.125),
            a_record("a-1", status="cached", nbytes=0.0),
        )
        store.add_run(a_run(tasks=tasks))
        assert store.run("a").tasks == tasks

    def test_records_without_finite_times_are_left_out(self, store: Store) -> None:
        broken = [a_record(end=math.nan), a_record(start=-math.inf), a_record(end=math.inf)]
        store.add_run(a_run(tasks=(*broken, a_record("fit-1"))))
        assert [record.task for record in store.run("a").tasks] == ["fit-1"]
        assert store.runs()[0].tasks == 1

    def test_a_size_that_is_not_known_does_no_harm(self, store: Store) -> None:
        store.add_run(a_run(tasks=(a_record(nbytes=math.nan),)))
        (observation,) = store.observations(["load"])
        assert math.isnan(observation.nbytes)
        assert math.isnan(store.run("a").tasks[0].nbytes)

    def test_memory_is_observed_where_it_was_measured(self, store: Store) -> None:
        tasks = (a_record("load-1", memory_peak=7e9), a_record("load-2"))
        store.add_run(a_run(tasks=tasks))
        observed = {o.task: o.memory_peak for o in store.observations(["load"])}
        assert observed == {"load-1": 7e9, "load-2": None}

    def test_overhead_is_observed_where_it_was_measured(self, store: Store) -> None:
        tasks = (a_record("load-1", overhead_seconds=0.25), a_record("load-2"))
        store.add_run(a_run(tasks=tasks))
        observed = {o.task: (o.seconds, o.overhead_seconds) for o in store.observations(["load"])}
        assert observed == {"load-1": (1.0, 0.25), "load-2": (1.0, None)}
        assert [task.overhead_seconds for task in store.run("a" * 32).tasks] == [0.25, None]

    def test_a_run_added_again_replaces_itself(self, store: Store) -> None:
        store.add_run(a_run(seconds=9.0))
        store.add_run(a_run(seconds=3.0, tasks=(a_record(),)))
        assert [(run.seconds, run.tasks) for run in store.runs()] == [(3.0, 1)]
        assert len(store.observations(["load", "fit"])) == 1

    def test_a_run_is_found_by_the_beginning_of_its_id(self, store: Store) -> None:
        store.add_run(a_run("ab12"))
        store.add_run(a_run("ab34"))
        store.add_run(a_run("ab"))
        assert store.run("ab1").run_id == "ab12"
        assert store.run("ab").run_id == "ab"

    @pytest.mark.parametrize("asked", ["", "z", "ab12x", "%", "_b12", "AB12"])
    def test_an_unknown_run_is_refused_with_advice(self, store: Store, asked: str) -> None:
        store.add_run(a_run("ab12"))
        with pytest.raises(UnknownRun, match="orchestrator runs"):
            store.run(asked)

    def test_an_ambiguous_beginning_is_refused_with_the_candidates(self, store: Store) -> None:
        store.add_run(a_run("ab12"))
        store.add_run(a_run("ab34"))
        with pytest.raises(UnknownRun, match=r"2 runs begin with 'a' .*ab12, ab34"):
            store.run("a")

    def test_runs_give_the_newest_first(self, store: Store) -> None:
        for i, flow in enumerate(["etl", "train", "etl"]):
            store.add_run(a_run(f"{i}", flow=flow, started_at=1000.0 - i))
        assert [run.run_id for run in store.runs()] == ["0", "1", "2"]
        assert [run.run_id for run in store.runs(flow="etl")] == ["0", "2"]
        assert [run.run_id for run in store.runs(limit=1)] == ["0"]

    def test_flows_of_one_name_are_told_apart_by_their_origin(self, store: Store) -> None:
        for i, origin in enumerate(["", "sales/etl.py:etl", "staff/etl.py:etl"]):
            store.add_run(a_run(f"{i}", origin=origin, started_at=float(i)))
        assert [run.origin for run in store.runs(flow="etl")][-1] == ""
        assert [run.run_id for run in store.runs(origin="sales/etl.py:etl")] == ["1"]
        assert [run.run_id for run in store.runs(flow="etl", origin="")] == ["0"]
        assert store.runs(flow="other", origin="sales/etl.py:etl") == []
        latest = store.latest_run("etl", "sales/etl.py:etl")
        assert latest == a_run("1", origin="sales/etl.py:etl", started_at=1.0)
        assert store.latest_run("etl", "nowhere") is None

    def test_a_summary_says_what_was_promised(self, store: Store) -> None:
        store.add_run(a_run(plan=replace(a_plan(), cache="hit")))
        (line,) = store.runs()
        assert (line.predicted, line.lower_bound, line.cache) == (3.0, 2.0, "hit")
        assert (line.seconds, line.status, line.tasks, line.mode) == (3.1, "ok", 2, "planned")
        store.add_run(a_run(plan=replace(a_plan(), adopted=False)))
        (line,) = store.runs()
        assert line.predicted == 4.0, "what Dask's own order was to take, which was left to it"
        store.add_run(a_run(plan=None))
        (line,) = store.runs()
        assert (line.predicted, line.lower_bound, line.cache) == (None, None, "")

    def test_the_latest_run_is_the_newest_that_succeeded(self, store: Store) -> None:
        store.add_run(a_run("1", started_at=1.0))
        store.add_run(a_run("2", started_at=2.0))
        store.add_run(a_run("3", started_at=3.0, status="failed"))
        store.add_run(a_run("4", started_at=4.0, flow="other"))
        latest = store.latest_run("etl")
        assert latest is not None
        assert latest.run_id == "2"

    def test_the_oldest_runs_of_a_flow_are_forgotten_with_their_tasks(self, make: Make) -> None:
        store = make(keep_runs=2)
        store.add_run(a_run("x", started_at=1.0, flow="other"))
        for i in range(4):
            store.add_run(a_run(f"{i}", started_at=10.0 + i))
        assert [run.run_id for run in store.runs()] == ["3", "2", "x"]
        assert {o.run_id for o in store.observations(["load"])} == {"3", "2", "x"}
        store.close()

    def test_another_flow_of_that_name_makes_nobody_forget(self, make: Make) -> None:
        store = make(keep_runs=1)
        for i, origin in enumerate(["sales", "staff", "sales"]):
            store.add_run(a_run(f"{i}", origin=origin, started_at=float(i)))
        assert [run.run_id for run in store.runs()] == ["2", "1"]
        store.close()

    def test_clusters_are_those_of_the_runs_the_last_used_first(self, store: Store) -> None:
        store.add_run(a_run("1", started_at=1.0, cluster=a_cluster(3), cluster_signature="three"))
        store.add_run(a_run("2", started_at=2.0))
        store.add_run(a_run("3", started_at=3.0))
        assert store.clusters() == [a_cluster(2), a_cluster(3)]
        assert store.clusters(limit=1) == [a_cluster(2)]

    # learning

    def test_observations_are_last_attempts_that_succeeded(self, store: Store) -> None:
        tasks = (
            a_record("load-1", attempt=1, status="failed"),
            a_record("load-1", attempt=2, end=2.0),
            a_record("load-2", status="cached"),
            a_record("load-3", attempt=1),
            a_record("load-3", attempt=2, status="failed"),
            a_record("load-4", start=1.0, end=1.0),
            a_record("load-5", end=0.5, nbytes=7.0, worker="w1", worker_kind="small"),
        )
        store.add_run(a_run(tasks=tasks))
        newest, oldest = store.observations(["load"])
        assert (newest.task, newest.seconds, newest.nbytes) == ("load-5", 0.5, 7.0)
        assert (newest.worker, newest.worker_kind, newest.run_id) == ("w1", "small", "a" * 32)
        assert (oldest.task, oldest.seconds) == ("load-1", 2.0)

    def test_what_never_ended_well_is_known_by_how_long_it_took_to_fail(self, store: Store) -> None:
        """Else a flow with one task that always fails would never be planned."""
        tasks = (
            a_record("load-3", status="left", end=0.25),
            a_record("load-1", attempt=1, status="failed", end=0.5),
            a_record("load-1", attempt=2, status="failed", end=0.75),
            a_record("load-2", status="failed", start=1.0, end=1.0),
            a_record("load-4", status="failed", end=1.5, setup_seconds=1.5),
        )
        store.add_run(a_run("1", tasks=tasks))
        assert sorted(each.seconds for each in store.observations(["load"])) == [0.25, 0.5, 0.75]
        assert [each.seconds for each in store.observations(["load"], limit_per_kind=1)] == [0.75]
        store.add_run(a_run("2", tasks=(a_record("load-2", end=4.0),)))
        assert [each.seconds for each in store.observations(["load"])] == [4.0]

    def test_observations_have_the_features_that_the_graph_says(self, store: Store) -> None:
        graph = TaskGraph.build()
        graph.task("load-1", kind="load", features={"rows": 1e6, "größe (flow)": 2.5})
        graph.task("load-2", kind="load")
        run = a_run(tasks=(a_record("load-1"), a_record("load-2"), a_record("load-3")))
        store.add_run(replace(run, graph=graph.done()))
        found = {each.task: dict(each.features) for each in store.observations(["load"])}
        assert found == {
            "load-1": {"rows": 1e6, "größe (flow)": 2.5},
            "load-2": {},
            "load-3": {},
        }

    def test_kinds_are_those_that_can_be_learned_about(self, store: Store) -> None:
        failed, at_once = a_record("save-1", status="failed"), a_record("none-1", end=0.0)
        store.add_run(a_run(tasks=(a_record("load-1"), a_record("fit-1"), failed, at_once)))
        assert store.kinds() == ["fit", "load", "save"]
        assert {each.kind for each in store.observations(["none", *store.kinds()])} == {
            *store.kinds()
        }

    def test_observations_are_the_newest_of_each_kind_that_was_asked_for(
        self, store: Store
    ) -> None:
        for i in range(3):
            tasks = (a_record("load-1"), a_record("fit-1"), a_record("save-1"))
            store.add_run(a_run(f"{i}", started_at=float(i), tasks=tasks))
        found = store.observations(["load", "fit", "never"], limit_per_kind=2)
        assert sorted((o.kind, o.run_id) for o in found) == [
            ("fit", "1"),
            ("fit", "2"),
            ("load", "1"),
            ("load", "2"),
        ]

    def test_learned_costs_are_kept_by_name(self, store: Store) -> None:
        store.put_costs("etl", b"old")
        store.put_costs("etl", b'{"kinds": []}')
        store.put_costs("train", b"")
        assert store.costs("etl") == b'{"kinds": []}'
        assert store.costs("train") == b""
        assert store.costs("other") is None

    # manners

    def test_names_may_hold_anything(self, store: Store) -> None:
        flow = "größe <b> '; DROP TABLE runs; -- 任务 %_"
        store.add_run(a_run(flow=flow, tasks=(a_record("a'b-1", kind=flow),)))
        store.put(stored(flow=flow))
        assert store.runs(flow=flow)[0].flow == flow
        assert store.schedules(flow=flow)[0].flow == flow
        assert store.observations([flow])[0].kind == flow

    def test_several_threads_may_write_at_once(self, store: Store) -> None:
        def work(i: int) -> None:
            for k in range(5):
                store.put(stored(10.0 - k, key=replace(KEY, graph_signature=f"g{k}")))
                store.add_run(a_run(f"{i}-{k}"))
                store.find(KEY)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.schedules()) == 5
        assert len(store.runs()) == 20

    def test_a_closed_store_says_so(self, make: Make) -> None:
        store = make()
        store.put(stored())
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.find(KEY)
        with pytest.raises(StoreError, match="closed"):
            store.add_run(a_run())
