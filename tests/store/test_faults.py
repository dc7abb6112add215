"""What can happen to a database: it costs memory, and never more than a `StoreError`."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text

from orchestrator_core.errors import StoreError, UnknownRun
from orchestrator_core.store import codec, database
from orchestrator_core.store.base import StoredFinding
from orchestrator_core.store.codec import DamagedBlob, pack, unpack, unpack_run, unpack_schedule
from orchestrator_core.store.database import Database
from orchestrator_core.store.engine import _use_write_ahead_log, open_engine
from orchestrator_core.store.location import to_url
from orchestrator_core.store.safe import SafeStore
from orchestrator_core.store.schema import HEAD, bring
from orchestrator_core.store.sql import ScheduleStore
from tests.store.records import KEY, a_run, a_schedule, stored


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


def filled(path: Path) -> ScheduleStore:
    store = ScheduleStore(path)
    store.put(stored())
    store.add_run(a_run())
    return store


def corrupt_copies(path: Path) -> list[Path]:
    """Without the logs that moved along."""
    found = path.parent.glob("s.db.corrupt-*")
    return sorted(copy for copy in found if not copy.name.endswith(("-wal", "-shm")))


def test_what_a_driver_says_on_several_lines_is_told_on_one(path: Path) -> None:
    def unreachable(connection: Connection) -> None:
        raise sqlite3.OperationalError("connection refused\n\tIs the server running?\n")

    with closing(Database(to_url(path))) as database, pytest.raises(StoreError) as told:
        database.read(unreachable)
    assert str(told.value).endswith("cannot be read: connection refused Is the server running?")


# damaged files


@pytest.mark.parametrize("content", [b"my diary\n" * 1000, b"SQLite\n", b"\0" * 4096])
def test_a_file_that_never_was_a_database_is_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    store = ScheduleStore(path)
    with pytest.raises(StoreError, match="no SQLite database, and was left as it is"):
        store.find(KEY)
    with pytest.raises(StoreError):
        store.put(stored())
    store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == content


def damaged(path: Path) -> bytes:
    """A store whose pages after the first one are noise."""
    filled(path).close()
    content = bytearray(path.read_bytes())
    content[4096:] = random.Random(0).randbytes(len(content) - 4096)
    path.write_bytes(content)
    return bytes(content)


def test_who_only_reads_leaves_a_damaged_file_where_it_is(path: Path) -> None:
    content = damaged(path)
    store = ScheduleStore(path, mend=False)
    with pytest.raises(StoreError, match="is damaged: the next run sets it aside"):
        store.find(KEY)
    store.close()
    assert path.read_bytes() == content
    assert corrupt_copies(path) == []


def test_a_damaged_page_is_noticed_at_the_first_use_of_it(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged(path)
    store = ScheduleStore(path)
    assert store.find(KEY) is None
    assert store.put(stored())
    assert store.find(KEY) is not None
    store.close()
    (kept,) = corrupt_copies(path)
    (said,) = [record.getMessage() for record in caplog.records]
    assert str(path) in said
    assert kept.name in said


@pytest.mark.parametrize("size", [0, 1, 100, 512, 4096, 5000, 40_000])
def test_a_truncated_file_never_does_more_than_forget(path: Path, size: int) -> None:
    filled(path).close()
    os.truncate(path, size)
    store = ScheduleStore(path)
    store.put(stored())
    store.add_run(a_run())
    assert store.find(KEY) is not None
    assert store.run("a") == a_run()
    store.close()


def test_a_file_that_somebody_else_has_replaced_already_is_left_alone(path: Path) -> None:
    """Two processes meet the same damage: the second must leave the first one's new file alone."""
    filled(path).close()
    database = Database(to_url(path))
    calls = []

    def read(_connection: Connection) -> str:
        calls.append(None)
        if len(calls) == 1:
            os.replace(path, path.with_suffix(".old"))
            filled(path).close()
            raise damage()
        return "read"

    assert database.read(read) == "read"
    database.close()
    assert corrupt_copies(path) == []
    assert database.set_aside == 0


def test_a_file_that_somebody_else_is_just_replacing_is_opened_again(path: Path) -> None:
    """There is none of that name for a moment: it is not one that never was a database."""
    filled(path).close()
    database = Database(to_url(path))
    calls = []

    def read(_connection: Connection) -> str:
        calls.append(None)
        if len(calls) == 1:
            os.replace(path, path.with_suffix(".old"))
            raise damage()
        return "read"

    assert database.read(read) == "read"
    database.close()
    assert corrupt_copies(path) == []


def test_a_file_that_is_replaced_while_it_is_opened_is_opened_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Database(to_url(path)).read(lambda connection: None)
    replaced: list[None] = []

    def replace(_connection: object, _record: object) -> None:
        if not replaced:
            replaced.append(None)
            os.replace(path, path.with_suffix(".old"))
            filled(path).close()

    def opened(*arguments: Any, **options: Any) -> Engine:
        engine = open_engine(*arguments, **options)
        event.listen(engine, "connect", replace)
        return engine

    monkeypatch.setattr(database, "open_engine", opened)
    with closing(ScheduleStore(path)) as store:
        assert store.find(KEY) is not None


MEND = """
import sys
from orchestrator_core.store import database
from orchestrator_core.store.sql import ScheduleStore

def say_and_wait(word):
    print(word, flush=True)
    sys.stdin.readline()

def slow(path, unused=database._unused):
    say_and_wait("about to rename")
    return unused(path)

if sys.argv[2] == "slow":
    database._unused = slow
else:
    say_and_wait("ready")
store = ScheduleStore(sys.argv[1])
store.put_costs(sys.argv[2], b"learned")
print("wrote", store._database.set_aside, flush=True)
store.close()
"""


class Mender:
    """Another process that writes into the database, and waits once before."""

    def __init__(self, path: Path, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", MEND, str(path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.waits_at = self._hear()

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go on\n")
        self._process.stdin.flush()

    def set_aside(self) -> int:
        """How many files it has renamed, once it has written and closed the database."""
        said, number = self._hear().split()
        assert said == "wrote"
        self._process.wait(60)
        return int(number)

    def end(self) -> None:
        """Whatever it is at."""
        self._process.kill()
        self._process.communicate(timeout=60)

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture
def mender(path: Path) -> Iterator[Callable[[str], Mender]]:
    with ExitStack() as ends:

        def begun(name: str) -> Mender:
            made = Mender(path, name)
            ends.callback(made.end)
            return made

        yield begun


@pytest.mark.skipif(os.name != "posix", reason="no such locks elsewhere")
def test_what_is_written_while_another_process_sets_a_file_aside_is_not_set_aside_too(
    path: Path, mender: Callable[[str], Mender], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.0)
    damaged(path)
    other = mender("slow")
    assert other.waits_at == "about to rename"
    with closing(ScheduleStore(path, busy_seconds=0.0)) as store:
        with pytest.raises(StoreError, match=r"another process has held .*s\.db\.lock for 0 sec"):
            store.put_costs("mine", b"learned")
        other.go_on()
        assert other.set_aside() == 1
        store.put_costs("mine", b"learned")
        assert store.costs("slow") == store.costs("mine") == b"learned"
    assert len(corrupt_copies(path)) == 1
    assert path.with_name("s.db.lock").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="no such locks elsewhere")
def test_processes_that_meet_the_same_damage_set_it_aside_once(
    path: Path, mender: Callable[[str], Mender]
) -> None:
    damaged(path)
    names = [f"n{k}" for k in range(4)]
    menders = [mender(name) for name in names]
    for each in menders:
        each.go_on()
    assert sum(each.set_aside() for each in menders) == 1
    assert len(corrupt_copies(path)) == 1
    with closing(ScheduleStore(path)) as store:
        assert [store.costs(name) for name in names] == [b"learned"] * 4


def test_where_nothing_was_damaged_there_is_no_lock(path: Path) -> None:
    filled(path).close()
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def damage() -> sqlite3.DatabaseError:
    """What SQLite says of a broken page."""
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def test_threads_that_meet_the_same_damage_set_it_aside_once(path: Path) -> None:
    """What the first has written into the new file stays there."""
    filled(path).close()
    database = Database(to_url(path))
    database.read(lambda connection: None)
    met, mended = Barrier(2, timeout=60), Event()
    calls: list[str] = []

    def read(name: str, connection: Connection) -> int:
        calls.append(name)
        if calls.count(name) == 1:
            met.wait()
            assert name == "first" or mended.wait(60)
            raise damage()
        return int(connection.execute(text("SELECT count(*) FROM schedules")).scalar_one())

    def first() -> None:
        assert database.read(partial(read, "first")) == 0
        ScheduleStore(path).put(stored())
        mended.set()

    with ThreadPoolExecutor(2) as pool:
        found = pool.submit(first), pool.submit(database.read, partial(read, "second"))
    assert [each.result() for each in found] == [None, 1]
    database.close()
    assert database.set_aside == len(corrupt_copies(path)) == 1


def test_damage_twice_within_a_second_keeps_both(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_now", lambda: "now")
    for _ in range(2):
        damaged(path)
        with closing(ScheduleStore(path)) as store:
            assert store.find(KEY) is None
    assert [each.name for each in corrupt_copies(path)] == [
        "s.db.corrupt-now",
        "s.db.corrupt-now-1",
    ]


# lost and locked files


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be deleted elsewhere")
def test_a_file_that_is_deleted_while_open_is_made_again(path: Path) -> None:
    store = filled(path)
    for name in path.parent.glob("s.db*"):
        name.unlink()
    assert store.find(KEY) is None
    assert store.put(stored())
    store.close()
    again = ScheduleStore(path)
    assert again.find(KEY) is not None
    again.close()


def test_a_folder_that_is_gone_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "s.db"
    store = filled(path)
    for name in path.parent.glob("s.db*"):
        name.unlink()
    path.parent.rmdir()
    assert store.put(stored())
    store.close()


HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locked(path: Path) -> Iterator[Path]:
    """A database whose lock another process holds until the end of the test."""
    filled(path).close()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    yield path
    holder.communicate(timeout=30)


def test_another_process_with_the_lock_lets_us_read_and_fails_our_writes(locked: Path) -> None:
    store = ScheduleStore(locked, busy_seconds=0.1)
    with pytest.raises(StoreError, match=r"s\.db cannot be written: database is locked"):
        store.put(stored(1.0))
    found = store.find(KEY)
    assert found is not None
    assert found.makespan == 3.0
    store.close()


def test_a_read_only_database_can_be_read(path: Path) -> None:
    filled(path).close()
    store = ScheduleStore(f"sqlite:///file:{path}?mode=ro&uri=true")
    assert store.run("a") == a_run()
    assert store.find(KEY) is not None
    with pytest.raises(StoreError, match=r"cannot be written: attempt to write a readonly"):
        store.put(stored(1.0))
    store.close()


def test_a_read_only_database_that_is_missing_is_not_made(path: Path) -> None:
    store = ScheduleStore(f"sqlite:///file:{path}?mode=ro&uri=true")
    with pytest.raises(StoreError, match="cannot be read: unable to open"):
        store.find(KEY)
    store.close()
    assert not path.exists()


FULL = """
import resource, sys
from orchestrator_core.errors import StoreError
from orchestrator_core.store.sql import ScheduleStore
from tests.store.records import KEY, a_record, a_run, stored
store = ScheduleStore(sys.argv[1])
store.put(stored())
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
try:
    store.add_run(a_run(tasks=tuple(a_record(f"load-{i}") for i in range(20_000))))
except StoreError as error:
    print("refused:", error)
print(store.runs(), store.find(KEY).makespan)
store.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_loses_the_record_and_nothing_else(path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True)
    refused, answer = done.stdout.splitlines()
    assert refused.startswith("refused: the database")
    assert answer == "[] 3.0"


def test_a_locked_postgres_fails_our_writes_after_a_while(postgres_url: str) -> None:
    store = ScheduleStore(postgres_url, busy_seconds=0.1)
    store.put(stored())
    engine = open_engine(to_url(postgres_url))
    with engine.begin() as connection:
        connection.execute(text("LOCK TABLE schedules IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(StoreError, match="cannot be written: canceling statement"):
            store.put(stored(1.0))
        assert store.runs() == []
    assert store.put(stored(1.0))
    engine.dispose()
    store.close()


def test_a_name_that_no_text_can_hold_is_refused(path: Path) -> None:
    store = ScheduleStore(path)
    with pytest.raises(StoreError, match="cannot be written as JSON"):
        store.add_run(a_run(flow="\ud800"))
    assert store.runs() == []
    store.close()


# damaged blobs


def malicious() -> Iterator[tuple[str, bytes]]:
    """Blobs that are not what `pack_json` made of a schedule."""
    good = codec.pack_json(a_schedule())
    dice = random.Random(0)
    yield "empty", b""
    yield "zeros", bytes(1000)
    yield "noise", dice.randbytes(1000)
    yield "pickle", b"cos\nsystem\n(S'touch /tmp/owned'\ntR."
    yield "packed pickle", pack(b"cos\nsystem\n(S'touch /tmp/owned'\ntR.")
    for cut in (1, 4, 20, 44, 45, len(good) - 1):
        yield f"cut at {cut}", good[:cut]
    yield "too long", good + b"x"
    yield "twice", good + good
    for i in range(20):
        at = dice.randrange(len(good))
        yield f"bit {i}", good[:at] + bytes([good[at] ^ (1 << dice.randrange(8))]) + good[at + 1 :]
    yield "other version", good[:4] + b"\x02" + good[5:]
    bomb = zlib.compress(bytes(5_000_000), 9)
    yield "bomb that lies", blob(bomb, 100, b"")
    yield "bomb beyond the cap", blob(bomb, codec.MAX_TEXT + 1, b"")
    whole: dict[str, Any] = json.loads(a_schedule().to_json())
    for name, change in DAMAGES.items():
        yield name, pack(json.dumps(whole | change).encode())
    for name in ("format", "tasks", "workers", "assignments"):
        part = {key: value for key, value in whole.items() if key != name}
        yield f"without {name}", pack(json.dumps(part).encode())
    for name, written in TEXTS.items():
        yield name, pack(written)


def blob(body: bytes, length: int, claimed: bytes) -> bytes:
    digest = hashlib.sha256(claimed).digest()
    return struct.pack(">4sBQ32s", b"ORCH", 1, length, digest) + body


DAMAGES: dict[str, dict[str, Any]] = {
    "unknown field": {"__reduce__": "os.system"},
    "other format": {"format": "orchestrator.schedule/2"},
    "format is a number": {"format": 1},
    "names are numbers": {"tasks": [0, 1]},
    "no such task": {"assignments": [[9, 0, 0, 0, 0.0, 1.0]]},
    "negative task": {"assignments": [[-1, 0, 0, 0, 0.0, 1.0]]},
    "no such worker": {"assignments": [[0, 0, 9, 0, 0.0, 1.0]]},
    "negative instance": {"assignments": [[0, -1, 0, 0, 0.0, 1.0]]},
    "negative mode": {"assignments": [[0, 0, 0, -1, 0.0, 1.0]]},
    "huge instance": {"assignments": [[0, 2**80, 0, 0, 0.0, 1.0]]},
    "ends before it starts": {"assignments": [[0, 0, 0, 0, 2.0, 1.0]]},
    "starts before the run": {"assignments": [[0, 0, 0, 0, -2.0, 1.0]]},
    "null time": {"assignments": [[0, 0, 0, 0, None, 1.0]]},
    "text time": {"assignments": [[0, 0, 0, 0, "0", 1.0]]},
    "short row": {"assignments": [[0, 0, 0]]},
    "rows are objects": {"assignments": [{"task": 0}]},
    "transfer to nowhere": {"transfers": [[0, 0, 0, 7, 0.0, 0.0, 0.0, 1.0]]},
    "transfer of negative size": {"transfers": [[0, 0, 0, 1, 0.0, 0.0, 0.0, -1.0]]},
    "transfer that arrives early": {"transfers": [[0, 0, 0, 1, 3.0, 2.0, 1.0, 1.0]]},
    "segments of no row": {"segments": {"99": [[0.0, 1.0]]}},
    "segments of a name": {"segments": {"__class__": [[0.0, 1.0]]}},
    "segments backwards": {"segments": {"0": [[1.0, 0.0]]}},
}

TEXTS = {
    "no text": b"",
    "not JSON": b"{",
    "not UTF-8": b'{"format": "\xff\xfe"}',
    "a list": b"[]",
    "null": b"null",
    "infinite": b'{"format":"orchestrator.schedule/1","tasks":["0"],"workers":["0"],'
    b'"assignments":[[0,0,0,0,0.0,1e999]]}',
    "NaN": b'{"format":"orchestrator.schedule/1","tasks":["0"],"workers":["0"],'
    b'"assignments":[[0,0,0,0,NaN,1.0]]}',
    "deep": b"[" * 100_000,
    "deep inside": b'{"format":"x","tasks":' + b"[" * 100_000,
}

CORPUS = dict(malicious())


def test_the_corpus_is_large_enough() -> None:
    assert len(CORPUS) >= 50


@pytest.mark.parametrize("name", CORPUS)
def test_a_damaged_blob_is_refused(name: str) -> None:
    with pytest.raises(DamagedBlob):
        unpack_schedule(CORPUS[name])
    with pytest.raises(DamagedBlob):
        unpack_run(CORPUS[name])


def test_damaged_rows_are_dropped_counted_and_missed(path: Path) -> None:
    filled(path).close()
    connection = sqlite3.connect(path)
    for name, damaged in CORPUS.items():
        connection.execute(
            "INSERT INTO schedules SELECT NULL, ?, cluster_signature, objective, cost_bucket, "
            "flow, planner, makespan, lower_bound, bound_method, prices, assignments, "
            "created_at, used_at, hits, ? FROM schedules WHERE graph_signature = 'graph'",
            (name, damaged),
        )
    connection.execute("UPDATE runs SET body = ?", (CORPUS["bit 3"],))
    connection.execute("UPDATE cluster_observations SET body = ?", (CORPUS["bit 3"],))
    connection.commit()
    connection.close()
    before = {name.name for name in path.parent.iterdir()}
    store = ScheduleStore(path)
    assert [s.key for s in store.schedules(limit=1000)] == [KEY]
    assert store.dropped == len(CORPUS)
    with pytest.raises(UnknownRun, match="damaged"):
        store.run("a")
    assert store.runs() == []
    assert store.latest_run("etl") is None
    assert store.clusters() == []
    assert store.dropped == len(CORPUS) + 2
    store.close()
    assert {name.name for name in path.parent.iterdir()} <= before | {"s.db-wal", "s.db-shm"}


def test_another_one_takes_the_place_of_a_damaged_row(path: Path) -> None:
    """The newest schedule, cluster and finding are damaged: asked for one, the store gives the one
    before, as if they had never been there."""
    with closing(ScheduleStore(path)) as store:
        for number, age in (("old", 10.0), ("new", 20.0)):
            store.put(stored(key=replace(KEY, cost_bucket=number), used_at=age))
            store.add_run(a_run(number, cluster_signature=number, started_at=age))
            store.put_finding(StoredFinding(number, "crowd", b"text", age))
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("schedules", "cluster_observations", "findings"):
            column = "updated_at" if table == "findings" else "used_at"
            connection.execute(f"UPDATE {table} SET body = x'00' WHERE {column} = 20")
    with closing(ScheduleStore(path)) as store:
        near = store.find_near(replace(KEY, cost_bucket="another"))
        assert near is not None
        assert near.key.cost_bucket == "old"
        assert len(store.clusters(limit=1)) == 1
        assert [found.graph_signature for found in store.findings(limit=1)] == ["old"]
        assert store.dropped == 3


def test_a_damaged_row_of_a_database_that_cannot_be_written_is_missed_too(path: Path) -> None:
    filled(path).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE schedules SET body = x'00'")
    connection.execute("UPDATE runs SET body = x'00'")
    connection.commit()
    connection.close()
    store = ScheduleStore(f"sqlite:///file:{path}?mode=ro&uri=true")
    assert store.find(KEY) is None
    assert store.latest_run("etl") is None
    with pytest.raises(UnknownRun):
        store.run("a")
    store.close()


def test_a_bomb_is_not_unpacked_beyond_what_its_head_claims() -> None:
    bomb = blob(zlib.compress(bytes(20_000_000), 9), 10, bytes(10))
    tracemalloc.start()
    with pytest.raises(DamagedBlob):
        unpack(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


def test_what_is_too_large_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_TEXT", 100)
    with pytest.raises(StoreError, match="101 bytes"):
        pack(bytes(101))
    assert unpack(pack(bytes(100))) == bytes(100)


# a store that never fails


class Clock:
    """Time that passes when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_store_that_fails_answers_as_an_empty_one_and_says_so_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.mkdir()
    clock = Clock()
    store = SafeStore(ScheduleStore(path), clock=clock)
    with caplog.at_level(logging.WARNING):
        assert store.find(KEY) is None
        assert store.find_near(KEY) is None
        assert store.put(stored()) is False
        assert store.schedules() == []
        store.add_run(a_run())
        assert store.runs() == []
        assert store.latest_run("etl") is None
        assert store.clusters() == []
        assert store.observations(["load"]) == []
        store.put_costs("etl", b"{}")
        assert store.costs("etl") is None
        with pytest.raises(UnknownRun):
            store.run("a")
        clock.now = 61.0
        assert store.find(KEY) is None
    (said,) = caplog.records
    assert "s.db" in said.getMessage()
    assert not store.working
    store.close()


def test_who_asks_after_the_end_hears_nothing_and_nobody_is_warned(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SafeStore(ScheduleStore(path))
    store.add_run(a_run())
    assert store.runs()
    store.close()
    with caplog.at_level(logging.WARNING):
        assert store.runs() == []
    assert not caplog.records


def test_a_store_that_failed_is_tried_again_after_a_while(path: Path) -> None:
    path.mkdir()
    clock = Clock()
    store = SafeStore(ScheduleStore(path), clock=clock)
    store.put(stored())
    path.rmdir()
    clock.now = 59.0
    assert store.put(stored()) is False
    clock.now = 61.0
    assert store.put(stored()) is True
    assert store.working
    store.close()


def test_what_can_only_be_read_is_read_and_that_nothing_is_written_is_said_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(path).close()
    store = SafeStore(ScheduleStore(f"sqlite:///file:{path}?mode=ro&uri=true"))
    for _ in range(2):
        assert store.put(stored(1.0)) is False
        store.add_run(a_run("b"))
        assert store.run("a") == a_run()
        assert not store.working
    (said,) = caplog.records
    assert said.getMessage().startswith("nothing new is remembered, next try in 60 s: StoreError")
    store.close()


def test_an_unknown_run_is_an_answer_not_a_failure(path: Path) -> None:
    store = SafeStore(filled(path))
    with pytest.raises(UnknownRun, match="orchestrator runs"):
        store.run("zzz")
    assert store.working
    assert store.run("a") == a_run()
    store.close()


class Broken(ScheduleStore):
    """Fails in ways that no store should."""

    def find(self, key: object) -> Any:
        raise RecursionError("a bug")

    def close(self) -> None:
        super().close()
        raise OSError("even here")


def test_even_a_bug_in_a_store_costs_only_memory(path: Path) -> None:
    store = SafeStore(Broken(path))
    assert store.find(KEY) is None
    assert store.last_error == "RecursionError: a bug"
    store.close()


def test_who_opens_a_new_database_waits_for_who_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, both = tmp_path / "new.db", Barrier(2)
    bring_up = Database._bring_up
    made: list[str] = []

    def meet(self: Database) -> None:
        both.wait(30.0)
        self.busy_seconds = 0.0
        bring_up(self)

    def slow(connection: Connection) -> str | None:
        before = bring(connection)
        made.append(before or "new")
        return before

    monkeypatch.setattr(Database, "_bring_up", meet)
    monkeypatch.setattr(database, "bring", slow)

    def opened() -> int:
        with closing(ScheduleStore(path)) as store:
            return len(store.runs())

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(opened), pool.submit(opened)]
        assert [each.result() for each in found] == [0, 0]
    assert sorted(made) == [HEAD, "new"]


def test_a_file_that_may_only_be_read_is_left_in_the_mode_that_it_has(tmp_path: Path) -> None:
    """To ask for a write-ahead log is to write, and was refused; then nothing could be read."""
    file = tmp_path / "mine.db"
    with closing(sqlite3.connect(file)) as mine:
        mine.execute("CREATE TABLE kept (number)")
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as theirs:
        _use_write_ahead_log(theirs.cursor(), 1.0)
        assert theirs.execute("PRAGMA journal_mode").fetchone() == ("delete",)
