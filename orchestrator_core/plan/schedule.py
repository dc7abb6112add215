"""Schedule: who does what, when (what stage 3 hands over). Frozen columns, objects on demand.

A schedule names tasks and workers; it knows no instance and judges nothing (`check.py` does).
Times are in seconds from the start of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.on_demand import Names, View


@dataclass(frozen=True, slots=True)
class Assignment:
    """One instance of a task on a worker from `start` to `end`.

    Attributes:
        mode: position of the mode among the task's modes.
        instance: which of the task's `count` instances.
        segments: (start, end) of each piece, if it is paused at checkpoints; else empty.
    """

    task: str
    worker: str
    start: float
    end: float
    mode: int = 0
    instance: int = 0
    segments: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Transfer:
    """The output of one task instance on its way to another worker; all consumers there share it.

    Attributes:
        start: encoding begins (a thread of `source` is busy until `encoded`).
        end: the whole output is present at `destination`; a consumer that waits for a part of
            `nbytes` may begin ``latency + part / bandwidth`` after `encoded`.
        nbytes: size of the output.
    """

    task: str
    source: str
    destination: str
    start: float
    encoded: float
    end: float
    nbytes: float
    instance: int = 0


class Schedule:
    """Assignments and transfers, frozen; k assignments, x transfers.

    Attributes:
        task_names, worker_names: what the positions below point into.
        task, instance, worker, mode: (k,) positions. start, end: (k,) seconds.
        segments: pieces of paused assignments, by position among the assignments.
        transfer_task, transfer_instance, transfer_source, transfer_destination: (x,) positions.
        transfer_start, transfer_encoded, transfer_end: (x,) seconds. transfer_nbytes: (x,).
    """

    __slots__ = (
        "__dict__",
        "end",
        "instance",
        "mode",
        "segments",
        "start",
        "task",
        "task_names",
        "transfer_destination",
        "transfer_encoded",
        "transfer_end",
        "transfer_instance",
        "transfer_nbytes",
        "transfer_source",
        "transfer_start",
        "transfer_task",
        "worker",
        "worker_names",
    )
    task_names: tuple[str, ...]
    worker_names: tuple[str, ...]
    task: Ints
    instance: Ints
    worker: Ints
    mode: Ints
    start: Floats
    end: Floats
    segments: Mapping[int, tuple[tuple[float, float], ...]]
    transfer_task: Ints
    transfer_instance: Ints
    transfer_source: Ints
    transfer_destination: Ints
    transfer_start: Floats
    transfer_encoded: Floats
    transfer_end: Floats
    transfer_nbytes: Floats

    def __init__(
        self, assignments: Iterable[Assignment], transfers: Iterable[Transfer] = ()
    ) -> None:
        """The schedule of these values, in their order."""
        rows, moves = tuple(assignments), tuple(transfers)
        tasks = Names()
        workers = Names()
        columns: dict[str, ArrayLike] = {
            "task": [tasks[a.task] for a in rows],
            "worker": [workers[a.worker] for a in rows],
            "start": [a.start for a in rows],
            "end": [a.end for a in rows],
            "mode": [a.mode for a in rows],
            "instance": [a.instance for a in rows],
            "transfer_task": [tasks[t.task] for t in moves],
            "transfer_instance": [t.instance for t in moves],
            "transfer_source": [workers[t.source] for t in moves],
            "transfer_destination": [workers[t.destination] for t in moves],
            "transfer_start": [t.start for t in moves],
            "transfer_encoded": [t.encoded for t in moves],
            "transfer_end": [t.end for t in moves],
            "transfer_nbytes": [t.nbytes for t in moves],
        }
        segments = {i: a.segments for i, a in enumerate(rows) if a.segments}
        self._fill(tuple(tasks), tuple(workers), segments, columns)

    @classmethod
    def from_columns(
        cls,
        task_names: Sequence[str],
        worker_names: Sequence[str],
        *,
        segments: Mapping[int, tuple[tuple[float, float], ...]] | None = None,
        **columns: ArrayLike,
    ) -> Schedule:
        """The schedule of whole columns (the attributes' names); `mode`, `instance` and the
        transfers may be left out for zeros and none."""
        schedule = cls.__new__(cls)
        schedule._fill(tuple(task_names), tuple(worker_names), dict(segments or {}), columns)
        return schedule

    def _fill(
        self,
        task_names: tuple[str, ...],
        worker_names: tuple[str, ...],
        segments: Mapping[int, tuple[tuple[float, float], ...]],
        columns: Mapping[str, ArrayLike],
    ) -> None:
        put = object.__setattr__
        put(self, "task_names", task_names)
        put(self, "worker_names", worker_names)
        put(self, "segments", dict(segments))
        k, x = np.size(columns["task"]), np.size(columns.get("transfer_task", ()))
        for name in _COLUMNS:
            of_time = name.endswith(("start", "end", "encoded", "nbytes"))
            length = x if name.startswith("transfer_") else k
            column: Any = np.array(
                columns.get(name, np.zeros(length)), dtype=np.float64 if of_time else np.int64
            )
            if column.shape != (length,):
                raise ValueError(f"{name} has shape {column.shape}; expected ({length},)")
            column.flags.writeable = False
            put(self, name, column)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Schedule cannot change: {name}")

    @staticmethod
    def from_json(text: str | bytes) -> Schedule:
        """The schedule that `to_json` wrote.

        Raises:
            InvalidFormat: if the text is no such JSON.
        """
        from orchestrator_core.plan.schedule_wire import decode_schedule

        return decode_schedule(text)

    def to_json(self) -> bytes:
        """JSON of all columns; UTF-8."""
        from orchestrator_core.plan.schedule_wire import encode_schedule

        return encode_schedule(self)

    @cached_property
    def makespan(self) -> float:
        """The last end, in seconds; 0 for an empty schedule."""
        return float(self.end.max()) if len(self.end) else 0.0

    @property
    def assignments(self) -> Sequence[Assignment]:
        """The assignments, made on demand."""
        return View(len(self.task), self._assignment)

    @property
    def transfers(self) -> Sequence[Transfer]:
        """The transfers, made on demand."""
        return View(len(self.transfer_task), self._transfer)

    def _assignment(self, i: int) -> Assignment:
        return Assignment(
            task=self.task_names[self.task[i]],
            worker=self.worker_names[self.worker[i]],
            start=float(self.start[i]),
            end=float(self.end[i]),
            mode=int(self.mode[i]),
            instance=int(self.instance[i]),
            segments=self.segments.get(i, ()),
        )

    def _transfer(self, i: int) -> Transfer:
        return Transfer(
            task=self.task_names[self.transfer_task[i]],
            source=self.worker_names[self.transfer_source[i]],
            destination=self.worker_names[self.transfer_destination[i]],
            start=float(self.transfer_start[i]),
            encoded=float(self.transfer_encoded[i]),
            end=float(self.transfer_end[i]),
            nbytes=float(self.transfer_nbytes[i]),
            instance=int(self.transfer_instance[i]),
        )

    def __len__(self) -> int:
        return len(self.task)

    def __eq__(self, other: object) -> bool:
        """Equal when they say the same of the same names, in the same order."""
        if not isinstance(other, Schedule):
            return NotImplemented
        return tuple(self.assignments) == tuple(other.assignments) and tuple(
            self.transfers
        ) == tuple(other.transfers)

    def __hash__(self) -> int:
        return hash((len(self), self.makespan))

    def __reduce__(self) -> tuple[Any, ...]:
        names = (self.task_names, self.worker_names)
        return (_restored, (*names, dict(self.segments), *(getattr(self, c) for c in _COLUMNS)))

    def __repr__(self) -> str:
        return f"Schedule({len(self)} assignments, makespan {self.makespan:.6g} s)"

    def _repr_html_(self) -> str:
        from orchestrator_core.plan.picture import picture

        return f"<p>{escape(repr(self))}</p>{picture(self)}"


_COLUMNS = tuple(
    name
    for name in Schedule.__slots__
    if name not in ("__dict__", "task_names", "worker_names", "segments")
)


def _restored(
    task_names: tuple[str, ...],
    worker_names: tuple[str, ...],
    segments: dict[int, tuple[tuple[float, float], ...]],
    *columns: ArrayLike,
) -> Schedule:
    """The schedule that was pickled."""
    by_name = dict(zip(_COLUMNS, columns, strict=True))
    return Schedule.from_columns(task_names, worker_names, segments=segments, **by_name)
