"""The order in which a worker hears of tasks that become ready at the same moment.

A worker begins the first task that it hears of, whatever comes behind it in the same message. Dask
sends the tasks of a new graph in the order of its own priorities, which it has sorted by before a
plan could set others. So what is sent at once is put into the order of the priorities again.
"""

from __future__ import annotations

from typing import Any

COMPUTE = "compute-task"

Message = dict[str, Any]


def in_order(messages: list[Message]) -> list[Message]:
    """The messages to one worker; its compute tasks by priority, all others where they were."""
    places = [i for i, message in enumerate(messages) if message.get("op") == COMPUTE]
    if len(places) < 2:
        return messages
    ordered = sorted((messages[i] for i in places), key=lambda message: message["priority"])
    arranged = list(messages)
    for place, message in zip(places, ordered, strict=True):
        arranged[place] = message
    return arranged
