"""What a plan says about live tasks, and what is to be done about it; plain values (stage 4).

Events go into the `Follower`, directives come out; whoever talks to the network only carries them
out (`execute/dask/steer/steering.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Key = Hashable
"""What the host calls a task; Dask's keys are strings, numbers and tuples of these."""

K = TypeVar("K", bound=Key)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where and in which order a task is to run.

    Attributes:
        worker: name of the worker.
        rank: place in the order of starts, among those of all runs of the same priority; lower
            first.
        mode: position of the mode among the task's modes.
    """

    worker: str
    rank: float
    mode: int = 0


@dataclass(frozen=True, slots=True)
class Hold:
    """The task is not sent before others are, however free its worker is.

    Attributes:
        sent: keys that must have been sent to a worker first (or be finished, or gone).
        done: keys that must be finished first (or be gone).
        patience: seconds from the moment at which the task is ready; after them it is sent anyway.
    """

    sent: frozenset[Key] = frozenset()
    done: frozenset[Key] = frozenset()
    patience: float = 2.0


def keyed(holds: Mapping[str, Hold], key_of: Mapping[str, K]) -> dict[K, Hold]:
    """Holds that speak of names, by key; what speaks of names that have none is left out."""

    def keys(names: Iterable[Key]) -> frozenset[K]:
        return frozenset(key_of[str(name)] for name in names if str(name) in key_of)

    return {
        key_of[name]: Hold(keys(hold.sent), keys(hold.done), hold.patience)
        for name, hold in holds.items()
        if name in key_of
    }


@dataclass(frozen=True, slots=True)
class Place:
    """See to it that `key` runs in `slot`; if it is held, decide about it anew."""

    key: Key
    slot: Slot


@dataclass(frozen=True, slots=True)
class Move:
    """Take `key`, which was to run on the worker `source` and may not have begun, to its new slot.

    It may be elsewhere, if it had begun there when it was to be moved before.
    """

    key: Key
    source: str
    slot: Slot


@dataclass(frozen=True, slots=True)
class Release:
    """Hand `keys` back to the host's own policy."""

    keys: tuple[Key, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Disable:
    """Undo everything and stay out of the way from now on; `keys` were to run by the plan."""

    reason: str
    keys: tuple[Key, ...] = ()


Directive = Place | Move | Release | Disable
