"""Events of the Trace Event Format, as plain dictionaries; all times in whole microseconds.

Format: docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import math
from typing import Any

Event = dict[str, Any]


def microseconds(seconds: float) -> int:
    return round(1e6 * seconds)


def slice_of(
    at: tuple[int, int], name: str, category: str, span: tuple[int, int], args: Event
) -> Event:
    """Something that lasts; `at` is (process, thread), `span` (start, end)."""
    start, end = span
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": at[0],
        "tid": at[1],
        "ts": start,
        "dur": end - start,
        "args": args,
    }


def flow(number: int, source: tuple[int, int, int], target: tuple[int, int, int]) -> list[Event]:
    """An arrow from one slice to another; both are (process, thread, moment inside the slice)."""
    common = {"name": "input", "cat": "transfer", "id": number}
    return [
        {"ph": "s", **common, "pid": source[0], "tid": source[1], "ts": source[2]},
        {"ph": "f", "bp": "e", **common, "pid": target[0], "tid": target[1], "ts": target[2]},
    ]


def counter(process: int, name: str, moment: int, value: int) -> Event:
    return {
        "ph": "C",
        "name": name,
        "pid": process,
        "tid": 0,
        "ts": moment,
        "args": {"tasks": value},
    }


def process_name(process: int, name: str) -> list[Event]:
    """A title, and the place among the processes."""
    at: Event = {"ph": "M", "pid": process, "tid": 0, "ts": 0}
    return [
        {**at, "name": "process_name", "args": {"name": name}},
        {**at, "name": "process_sort_index", "args": {"sort_index": process}},
    ]


def thread_name(process: int, thread: int, name: str) -> list[Event]:
    """A title, and the place among the threads."""
    at: Event = {"ph": "M", "pid": process, "tid": thread, "ts": 0}
    return [
        {**at, "name": "thread_name", "args": {"name": name}},
        {**at, "name": "thread_sort_index", "args": {"sort_index": thread}},
    ]


def known(args: Event) -> Event:
    """Without what is not known: None, NaN and infinity."""
    return {
        key: value
        for key, value in args.items()
        if value is not None and (value.__class__ is not float or math.isfinite(value))
    }
