"""The rules time, duration, segments, release and deadline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.checks.rows import Rows
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Pieces:
    """Every interval in which an assignment really runs: its row, start and end, in seconds."""

    row: Ints
    start: Floats
    end: Floats


def check_finite(schedule: Schedule) -> None:
    """Rule time: every time is finite and not negative."""
    for name in ("start", "end", "transfer_start", "transfer_encoded", "transfer_end"):
        column = getattr(schedule, name)
        wrong = ~(np.isfinite(column) & (column >= 0))
        if wrong.any():
            at = int(np.argmax(wrong))
            of_transfer = name.startswith("transfer_")
            column_task = schedule.transfer_task if of_transfer else schedule.task
            position = int(column_task[at])
            known = 0 <= position < len(schedule.task_names)
            task = schedule.task_names[position] if known else None
            what = f"the transfer of task {task!r}" if of_transfer else f"task {task!r}"
            raise InvalidSchedule(
                f"{what} has {name.removeprefix('transfer_')} = {column[at]:g} s; "
                "times are finite and not negative",
                rule="time",
                task=task,
            )


def check_durations(rows: Rows) -> None:
    """Rules duration and segments: each assignment takes as long as its mode on its worker."""
    schedule = rows.schedule
    seconds = rows.instance.seconds[rows.mode, rows.worker]
    wrong = np.abs(schedule.end - schedule.start - seconds) > rows.eps
    for row in schedule.segments:
        if row not in range(len(schedule)):
            raise InvalidSchedule(
                f"there are segments for assignment {row}; the schedule has {len(schedule)}, "
                "counted from 0",
                rule="segments",
            )
        wrong[row] = False
        _check_segments(rows, row, float(seconds[row]))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidSchedule(
            f"{rows.label(at)} runs on {rows.place(int(rows.worker[at]))} from "
            f"{schedule.start[at]:.9g} s to {schedule.end[at]:.9g} s; there it takes "
            f"{seconds[at]:.9g} s",
            rule="duration",
            task=rows.name(at),
        )


def _check_segments(rows: Rows, row: int, seconds: float) -> None:
    """Rule segments: pieces in order, joined only at checkpoints, as long as the task together."""

    def refuse(found: str) -> NoReturn:
        raise InvalidSchedule(f"{rows.label(row)} {found}", rule="segments", task=rows.name(row))

    pieces = rows.schedule.segments[row]
    try:
        table = np.array(pieces, dtype=np.float64)
    except (ValueError, TypeError):
        refuse(f"has segments {pieces!r}; expected pairs of start and end")
    if table.ndim != 2 or table.shape[1] != 2 or not np.isfinite(table).all():
        refuse(f"has segments {pieces!r}; expected pairs of finite start and end")
    start, end = table[:, 0], table[:, 1]
    if (end <= start).any():
        refuse(f"has the segment {pieces[int(np.argmax(end <= start))]!r}; a segment has a length")
    if (start[1:] < end[:-1] - rows.eps).any():
        refuse(f"has segments {pieces!r}; each starts when the one before has ended")
    whole = (float(rows.schedule.start[row]), float(rows.schedule.end[row]))
    if abs(start[0] - whole[0]) > rows.eps or abs(end[-1] - whole[1]) > rows.eps:
        refuse(f"runs from {whole[0]:.9g} s to {whole[1]:.9g} s, but its segments are {pieces!r}")
    done = np.cumsum(end - start)
    if abs(done[-1] - seconds) > rows.eps * len(pieces):
        refuse(f"has segments of {done[-1]:.9g} s in all; it takes {seconds:.9g} s")
    points = np.array(rows.instance.graph.checkpoints(int(rows.task[row])), dtype=np.float64)
    for spent in done[:-1].tolist():
        if not (np.abs(points * seconds - spent) <= rows.eps * len(pieces)).any():
            allowed = ", ".join(f"{point * seconds:.9g} s" for point in points) or "no moment"
            refuse(f"pauses after {spent:.9g} s of work; it can pause after {allowed}")


def pieces_of(rows: Rows) -> Pieces:
    """All assignments as pieces: one each, or its segments."""
    schedule = rows.schedule
    whole = np.ones(len(schedule), dtype=bool)
    whole[list(schedule.segments)] = False
    row, start, end = np.flatnonzero(whole), schedule.start[whole], schedule.end[whole]
    if schedule.segments:
        parts = [(r, a, b) for r, pieces in schedule.segments.items() for a, b in pieces]
        more = np.array(parts, dtype=np.float64)
        row = np.concatenate([row, more[:, 0].astype(np.int64)])
        start, end = np.concatenate([start, more[:, 1]]), np.concatenate([end, more[:, 2]])
    return Pieces(row, start, end)


def check_dates(rows: Rows) -> None:
    """Rules release and deadline."""
    graph, schedule = rows.instance.graph, rows.schedule
    early = schedule.start < graph.release[rows.task] - rows.eps
    if early.any():
        at = int(np.argmax(early))
        raise InvalidSchedule(
            f"{rows.label(at)} starts at {schedule.start[at]:.9g} s, before its release at "
            f"{graph.release[rows.task[at]]:.9g} s",
            rule="release",
            task=rows.name(at),
        )
    late = schedule.end > graph.deadline[rows.task] + rows.eps
    if late.any():
        at = int(np.argmax(late))
        raise InvalidSchedule(
            f"{rows.label(at)} ends at {schedule.end[at]:.9g} s, after its deadline at "
            f"{graph.deadline[rows.task[at]]:.9g} s",
            rule="deadline",
            task=rows.name(at),
        )
