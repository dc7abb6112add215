"""Valid schedules pass; broken in any one way, they do not, and the broken rule is named."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule, OrchestratorError
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from tests.strategies import (
    instances,
    memory_peak,
    serial_schedule,
    unit_edges,
    with_memory,
)


@dataclass
class Case:
    """A valid schedule as lists, to be broken."""

    instance: Instance
    rows: list[Assignment]
    moves: list[Transfer]
    rng: np.random.Generator

    def pick(self, number: int) -> int:
        assume(number > 0)
        return int(self.rng.integers(number))

    def change(self, i: int, **fields: object) -> None:
        self.rows[i] = replace(self.rows[i], segments=(), **fields)

    def change_move(self, i: int, **fields: object) -> None:
        self.moves[i] = replace(self.moves[i], **fields)

    def consumers(self) -> list[tuple[int, int]]:
        """(row of a consumer, row of its producer) pairs."""
        graph = self.instance.graph
        place = {(graph.index[a.task], a.instance): i for i, a in enumerate(self.rows)}
        return [(place[b, rb], place[a, ra]) for a, ra, b, rb, _ in unit_edges(graph)]


BREACHES: list[tuple[Callable[[Case], None], set[str]]] = []


def breach(*rules: str) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    def register(function: Callable[[Case], None]) -> Callable[[Case], None]:
        BREACHES.append((function, set(rules)))
        return function

    return register


@breach("once")
def drop_an_assignment(case: Case) -> None:
    del case.rows[case.pick(len(case.rows))]


@breach("once")
def duplicate_an_assignment(case: Case) -> None:
    case.rows.append(case.rows[case.pick(len(case.rows))])


@breach("once")
def invent_an_instance(case: Case) -> None:
    i = case.pick(len(case.rows))
    case.change(i, instance=case.rows[i].instance + 7)


@breach("names")
def rename_a_task(case: Case) -> None:
    case.change(case.pick(len(case.rows)), task="no such task")


@breach("names")
def rename_a_worker(case: Case) -> None:
    case.change(case.pick(len(case.rows)), worker="no such worker")


@breach("names")
def send_what_does_not_exist(case: Case) -> None:
    case.change_move(case.pick(len(case.moves)), task="no such task")


@breach("mode")
def run_in_a_mode_that_is_none(case: Case) -> None:
    case.change(case.pick(len(case.rows)), mode=99)


@breach("time")
def not_a_time(case: Case) -> None:
    bad = [math.nan, math.inf, -1.0][case.pick(3)]
    case.change(case.pick(len(case.rows)), **{["start", "end"][case.pick(2)]: bad})


@breach("time")
def not_a_time_of_a_transfer(case: Case) -> None:
    bad = [math.nan, math.inf, -1.0][case.pick(3)]
    which = ["start", "encoded", "end"][case.pick(3)]
    case.change_move(case.pick(len(case.moves)), **{which: bad})


@breach("duration")
def shorten(case: Case) -> None:
    i = case.pick(len(case.rows))
    row = case.rows[i]
    case.change(i, end=row.end - 0.1 * (row.end - row.start))


@breach("duration")
def lengthen(case: Case) -> None:
    i = case.pick(len(case.rows))
    case.change(i, end=case.rows[i].end + 0.1)


@breach("inputs", "release", "transfer")
def start_before_the_inputs(case: Case) -> None:
    pairs = case.consumers()
    consumer, producer = pairs[case.pick(len(pairs))]
    start = case.rows[producer].end - 0.01
    length = case.rows[consumer].end - case.rows[consumer].start
    case.change(consumer, start=start, end=start + length)


@breach("eligible")
def move_to_an_ineligible_worker(case: Case) -> None:
    i = case.pick(len(case.rows))
    row, graph = case.rows[i], case.instance.graph
    mode = graph.mode_ptr[graph.index[row.task]] + row.mode
    barred = np.flatnonzero(~case.instance.eligible[mode])
    assume(len(barred) > 0)
    case.change(i, worker=case.instance.cluster.names[barred[0]])


@breach("transfer")
def swap_the_worker_of_a_producer(case: Case) -> None:
    """It runs elsewhere, as fast as it does there, but nothing brings its output back."""
    graph, cluster, seconds = case.instance.graph, case.instance.cluster, case.instance.seconds
    moves = []
    for consumer, producer in case.consumers():
        row = case.rows[producer]
        mode = graph.mode_ptr[graph.index[row.task]] + row.mode
        for w, name in enumerate(cluster.names):
            if case.rows[consumer].worker == row.worker != name and seconds[mode, w] <= row.end:
                moves.append((producer, name, row.end - float(seconds[mode, w])))
    producer, other, start = moves[case.pick(len(moves))]
    case.change(producer, worker=other, start=start)


@breach("transfer")
def drop_a_transfer(case: Case) -> None:
    del case.moves[case.pick(len(case.moves))]


@breach("transfer")
def send_twice(case: Case) -> None:
    case.moves.append(case.moves[case.pick(len(case.moves))])


@breach("transfer")
def send_too_early(case: Case) -> None:
    i = case.pick(len(case.moves))
    move = case.moves[i]
    made = {(row.task, row.instance): row.end for row in case.rows}[move.task, move.instance]
    early = move.start - made + 0.01
    assume(made > 0.01)
    case.change_move(
        i, start=move.start - early, encoded=move.encoded - early, end=move.end - early
    )


@breach("transfer")
def resize_a_transfer(case: Case) -> None:
    i = case.pick(len(case.moves))
    case.change_move(i, nbytes=case.moves[i].nbytes + 1.0)


@breach("transfer")
def arrive_too_early(case: Case) -> None:
    i = case.pick(len(case.moves))
    assume(case.moves[i].end > 0.01)
    case.change_move(i, end=case.moves[i].end - 0.01)


@breach("transfer")
def encode_too_quickly(case: Case) -> None:
    i = case.pick(len(case.moves))
    case.change_move(i, encoded=case.moves[i].encoded + 0.01)


@breach("transfer")
def misdirect_a_transfer(case: Case) -> None:
    i = case.pick(len(case.moves))
    case.change_move(i, destination=case.moves[i].source)


@breach("transfer")
def send_from_elsewhere(case: Case) -> None:
    i = case.pick(len(case.moves))
    case.change_move(i, source=case.moves[i].destination)


@breach("segments")
def pause_off_a_checkpoint(case: Case) -> None:
    i = case.pick(len(case.rows))
    row = case.rows[i]
    length = row.end - row.start
    assume(length > 0.1)
    middle = row.start + 0.4 * length
    pieces = ((row.start, middle), (middle, row.end))
    case.rows[i] = replace(row, segments=pieces)


@breach("segments")
def overlap_segments(case: Case) -> None:
    i = case.pick(len(case.rows))
    row = case.rows[i]
    length = row.end - row.start
    assume(length > 0.1)
    pieces = ((row.start, row.start + 0.6 * length), (row.end - 0.4 * length - 0.05, row.end))
    case.rows[i] = replace(row, segments=pieces)


def _case(instance: Instance, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    loose = Cluster.from_matrices(
        [replace(w, memory=math.inf) for w in instance.cluster.workers],
        latency=instance.cluster.latency,
        seconds_per_byte=instance.cluster.seconds_per_byte,
        encode_seconds_per_byte=instance.cluster.encode_seconds_per_byte,
        stock={"credit": 1e6},
    )
    instance = Instance(instance.graph, loose, instance.seconds)
    schedule = serial_schedule(instance, rng if seed % 4 else None)
    check_schedule(instance, schedule)
    return Case(instance, list(schedule.assignments), list(schedule.transfers), rng)


@pytest.mark.parametrize(
    ("break_it", "rules"), BREACHES, ids=[function.__name__ for function, _ in BREACHES]
)
@given(
    instance=instances(
        max_tasks=8,
        threads=True,
        encode=True,
        counts=True,
        modes=True,
        eligible=True,
        checkpoints=True,
    ),
    seed=st.integers(0, 10_000),
)
def test_a_breach_is_noticed(
    break_it: Callable[[Case], None], rules: set[str], instance: Instance, seed: int
) -> None:
    case = _case(instance, seed)
    break_it(case)
    with pytest.raises(InvalidSchedule) as caught:
        check_schedule(case.instance, Schedule(case.rows, case.moves))
    assert caught.value.rule in rules, str(caught.value)


@given(instance=instances(any_constraints=True))
def test_serial_schedules_are_valid(instance: Instance) -> None:
    check_schedule(instance, serial_schedule(instance))


@given(instance=instances(modes=True, threads=True, counts=True), seed=st.integers(0, 10_000))
def test_an_overlap_beyond_the_threads_is_noticed(instance: Instance, seed: int) -> None:
    """Two tasks at the same time on a worker are one too many exactly if their threads are."""
    case = _case(instance, seed)
    graph = case.instance.graph
    linked = {frozenset(pair) for pair in case.consumers()}
    i, j = case.pick(len(case.rows)), case.pick(len(case.rows))
    a, b = case.rows[i], case.rows[j]
    assume(i != j and a.worker == b.worker and frozenset((i, j)) not in linked)
    length = b.end - b.start
    case.change(j, start=a.start, end=a.start + length)
    threads = sum(
        int(graph.mode_threads[graph.mode_ptr[graph.index[row.task]] + row.mode]) for row in (a, b)
    )
    worker = case.instance.cluster.workers[case.instance.cluster.index[a.worker]]
    assume(threads > worker.threads)
    with pytest.raises(InvalidSchedule) as caught:
        check_schedule(case.instance, Schedule(case.rows, case.moves))
    # Moving b may also bring it before its own inputs, or behind its consumers' starts.
    assert caught.value.rule in {"threads", "inputs", "transfer"}


@given(
    instance=instances(memory=True, encode=True, counts=True, modes=True, threads=True),
    seed=st.integers(0, 10_000),
)
def test_memory_at_its_exact_peak_fits_and_one_byte_less_does_not(
    instance: Instance, seed: int
) -> None:
    case = _case(instance, seed)
    schedule = Schedule(case.rows, case.moves)
    peak = memory_peak(case.instance, schedule)

    def on(memory: dict[str, float]) -> Instance:
        return Instance(
            case.instance.graph, with_memory(case.instance.cluster, memory), case.instance.seconds
        )

    check_schedule(on({w: max(1.0, size) for w, size in peak.items()}), schedule)
    worker = max(peak, key=lambda name: peak[name])
    assume(peak[worker] >= 2)
    with pytest.raises(OrchestratorError) as caught:
        check_schedule(on({worker: peak[worker] - 1.0}), schedule)
    if isinstance(caught.value, InvalidSchedule):
        # A task that needs the whole worker may not even run on the smaller one.
        assert caught.value.rule in {"memory", "eligible"}


@given(instance=instances(deadline=True), seed=st.integers(0, 100))
def test_a_missed_deadline_is_noticed(instance: Instance, seed: int) -> None:
    schedule = serial_schedule(instance)
    dated = np.flatnonzero(np.isfinite(instance.graph.deadline[schedule.task]))
    assume(len(dated) > 0)
    delay = float(np.min(instance.graph.deadline[schedule.task[dated]] - schedule.end[dated])) + 0.1
    later = Schedule(
        [replace(a, start=a.start + delay, end=a.end + delay) for a in schedule.assignments],
        [
            replace(t, start=t.start + delay, encoded=t.encoded + delay, end=t.end + delay)
            for t in schedule.transfers
        ],
    )
    with pytest.raises(InvalidSchedule, match="after its deadline"):
        check_schedule(instance, later)
