"""The order in which a worker hears of tasks that become ready at the same moment.

A worker begins the first task that it hears of, whatever comes behind it in the same message. Dask
sends the tasks of a new graph in the order of its own priorities, which it has sorted by before a
plan could set others. So what is sent at once is put into the order of the priorities again.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

COMPUTE = "compute-task"

Message = dict[str, Any]


def in_order(messages: list[Message]) -> list[Message]:
    """The messages to one worker, compute tasks by priority.

    None passes a message of another sort: a key that is freed and computed again is to be computed.
    """
    ordered: list[Message] = []
    for is_compute, run in groupby(messages, key=_is_compute):
        alike = list(run)
        if is_compute:
            alike.sort(key=_priority)
        ordered += alike
    return ordered


def _is_compute(message: Message) -> bool:
    return message.get("op") == COMPUTE


def _priority(message: Message) -> Any:
    return message["priority"]
