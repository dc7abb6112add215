"""A process that writes and learns: what it does is what would have been done here."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from orchestrator_core import Cluster, RunRecord, TaskGraph, TaskRecord, Worker
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.scribe import process, writing
from orchestrator_core.orchestrate.scribe.desk import ATTEMPTS, Desk
from orchestrator_core.orchestrate.scribe.process import Scribe
from orchestrator_core.orchestrate.scribe.writing import (
    Learned,
    Past,
    Recall,
    WriteRun,
    learn_all,
)
from orchestrator_core.store.base import Store
from orchestrator_core.store.memory import MemoryStore
from orchestrator_core.store.safe import SafeStore
from orchestrator_core.store.sql import ScheduleStore

TASKS = 20

LONG = 60.0


def made(run_id: str, slower: float = 1.0) -> RunRecord:
    """Tasks of one and two seconds in turn on two equal workers."""
    builder = TaskGraph.build()
    for i in range(TASKS):
        builder.task(f"t-{i}", kind=f"k{i % 2}")
    records = [
        TaskRecord(f"t-{i}", f"k{i % 2}", f"w{i % 2}", "w", 0.0, slower * (1.0 + i % 2))
        for i in range(TASKS)
    ]
    return RunRecord(
        run_id=run_id,
        flow="flow",
        started_at=time.time(),
        seconds=TASKS * slower,
        mode="observed",
        reason="",
        graph=builder.done(),
        cluster=Cluster([Worker("w0", kind="w"), Worker("w1", kind="w")]),
        graph_signature="graph",
        cluster_signature="cluster",
        tasks=tuple(records),
    )


def broken() -> RunRecord:
    raise ValueError("no such run")


def fatal() -> RunRecord:
    """Ends the process that makes it, unless that is the tests' own."""
    if os.environ["SCRIBES_MAKER"] != str(os.getpid()):
        os.kill(os.getpid(), signal.SIGKILL)
    return made("survivor")


def stuck() -> RunRecord:
    """Tells that it has begun, and never ends."""
    Path(os.environ["SCRIBES_PIPE"]).write_text("begun")
    signal.pause()
    raise AssertionError


@pytest.fixture
def store(tmp_path: Path):
    opened = ScheduleStore(tmp_path / "runs.db")
    yield opened
    opened.close()


def test_it_writes_and_learns_as_would_be_done_here(store: ScheduleStore) -> None:
    scribe = Scribe(store)
    try:
        written = scribe.do(WriteRun(partial(made, "a"), learn=True))
        assert scribe.do(WriteRun(partial(made, "b", 2.0), learn=False)).learned is None
    finally:
        scribe.end()
    here = MemoryStore()
    expected = WriteRun(partial(made, "a"), learn=True).do(here)
    assert written == expected, "the same numbers, and what the run taught"
    assert written.learned == learn_all(here, made("a").cluster.workers)
    assert [len(store.run(name).tasks) for name in ("a", "b")] == [TASKS, TASKS]


def test_it_remembers_as_would_be_done_here(store: ScheduleStore) -> None:
    assert Recall(8, 8).do(store) is None, "there is nothing yet"
    for i in range(3):
        store.add_run(made(f"r{i}", 1.0 + i))
    scribe = Scribe(store)
    try:
        past = scribe.do(Recall(8, 8))
    finally:
        scribe.end()
    assert past == Recall(8, 8).do(store)
    assert [outcome.seconds for outcome in past.outcomes] == [TASKS * (1.0 + i) for i in range(3)]
    assert past.learned == learn_all(store, made("a").cluster.workers)
    assert Recall(2, 0).do(store) == Past(past.outcomes[1:]), "the two latest runs, nothing else"


def test_what_fails_there_is_told_and_the_next_is_done(store: ScheduleStore) -> None:
    scribe = Scribe(store)
    try:
        with pytest.raises(RuntimeError, match="ValueError: no such run"):
            scribe.do(WriteRun(broken, learn=False))
        assert scribe.do(WriteRun(partial(made, "a"), learn=False)).outcome is not None
    finally:
        scribe.end()


def test_nothing_is_lost_with_a_scribe_that_dies(
    store: ScheduleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIBES_MAKER", str(os.getpid()))
    desk = Desk(SafeStore(store), store, here=0)
    for _ in range(ATTEMPTS):
        assert desk.do(WriteRun(fatal, learn=False), TASKS).outcome is not None
        assert len(store.run("survivor").tasks) == TASKS, "it was written here"
    assert desk.do(WriteRun(partial(made, "a"), learn=False), TASKS).outcome is not None
    assert desk._scribe is None, "after some that died nobody is hired any more"


def test_who_leaves_for_want_of_work_is_no_failure(
    store: ScheduleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "IDLE_SECONDS", 0.05)
    desk = Desk(SafeStore(store), store, here=0)
    for i in range(ATTEMPTS + 1):
        desk.do(WriteRun(partial(made, f"r{i}"), learn=False), TASKS)
        assert desk._scribe is not None
        assert desk._scribe._process.wait(LONG) == 0
    monkeypatch.undo()
    desk.do(WriteRun(partial(made, "last"), learn=False), TASKS)
    assert desk._scribe is not None
    desk.close()


def test_who_is_killed_while_idle_is_a_failure(store: ScheduleStore) -> None:
    desk = Desk(SafeStore(store), store, here=0)
    for i in range(ATTEMPTS):
        desk.do(WriteRun(partial(made, f"r{i}"), learn=False), TASKS)
        assert desk._scribe is not None
        desk._scribe._process.kill()
        desk._scribe._process.wait(LONG)
        desk.do(WriteRun(partial(made, f"s{i}"), learn=False), TASKS)
        assert desk._scribe is None, "done here"
    desk.do(WriteRun(partial(made, "last"), learn=False), TASKS)
    assert desk._scribe is None, "nobody is hired any more"
    assert len(store.runs()) == 2 * ATTEMPTS + 1


def test_one_that_is_busy_is_ended_without_waiting_for_its_answer(
    store: ScheduleStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setenv("SCRIBES_PIPE", str(pipe))
    monkeypatch.setattr(process, "END_SECONDS", 0.05)
    scribe = Scribe(store)
    errors: list[Exception] = []

    def ask() -> None:
        try:
            scribe.do(WriteRun(stuck, learn=False))
        except Exception as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert pipe.read_text() == "begun"
    scribe.end()
    asking.join(LONG)
    assert isinstance(errors[0], EOFError)
    assert scribe._process.returncode == -signal.SIGKILL
    scribe.end()


def test_little_is_written_here_and_much_by_a_scribe(store: ScheduleStore) -> None:
    desk = Desk(SafeStore(store), store, here=TASKS)
    try:
        desk.do(WriteRun(partial(made, "a"), learn=False), TASKS)
        assert desk._scribe is None
        desk.do(WriteRun(partial(made, "b"), learn=False), TASKS)
        assert desk._scribe is not None
    finally:
        desk.close()
    assert {line.run_id for line in store.runs()} == {"a", "b"}


def test_a_store_travels_as_the_place_where_it_is(store: ScheduleStore) -> None:
    store.add_run(made("a"))
    copy = pickle.loads(pickle.dumps(store))
    try:
        assert copy is not store
        assert copy.url == store.url
        assert copy.run("a") == store.run("a")
    finally:
        copy.close()


def test_of_runs_that_come_at_once_all_are_written_and_the_last_is_learned_from() -> None:
    store = MemoryStore()
    memory = Memory(store, in_memory=True)
    memory.refresh()
    outcomes: list[object] = []
    for i in range(5):
        memory.remember(partial(made, f"r{i}", 1.0 + i), TASKS, outcomes.append)
    memory.settle(LONG)
    assert [outcome.seconds for outcome in outcomes] == [TASKS * (1.0 + i) for i in range(5)]
    workers = made("a").cluster.workers
    assert memory.costs((), ()) == learn_all(store, workers).costs, "what all five teach"
    memory.close()


def test_where_learning_takes_long_it_is_not_done_after_each_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def taking_a_minute(store: Store, workers: Iterable[Worker]) -> Learned:
        return replace(learn_all(store, workers), seconds=60.0)

    monkeypatch.setattr(writing, "learn_all", taking_a_minute)
    memory = Memory(MemoryStore(), in_memory=True)
    memory.refresh()
    for name in ("a", "b", "c"):
        done = threading.Event()
        memory.remember(partial(made, name), TASKS, lambda outcome, done=done: done.set())
        assert done.wait(LONG)
    memory._writer.flush(LONG)
    assert sum(kind.samples for kind in memory.costs((), ()).kinds) == TASKS
    memory.settle(LONG)
    assert sum(kind.samples for kind in memory.costs((), ()).kinds) == 3 * TASKS
    memory.close()


def test_nobody_learns_for_who_never_asks() -> None:
    store = MemoryStore()
    memory = Memory(store, in_memory=True)
    memory.remember(partial(made, "a"), TASKS, lambda outcome: None)
    memory.close()
    assert len(store.runs()) == 1
    assert memory._learned.kinds == ()
