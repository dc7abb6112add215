"""Fetches: how many bytes came with each transfer; Dask tells only how long it took.

The worker's own log has the bytes, but how much that keeps is for its owner to say, and may be
nothing. So keys are followed from the moment they are asked for until they are there.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice
from typing import Any

NBYTES = "orchestrator-nbytes"
"""The entry that a transfer's span gets."""

LOOKED_AT = 100
"""Tasks that need an output and are searched for the span; which of them has it is chance."""


class Fetches:
    """The transfers to one worker that are under way; Dask has one at a time from each source."""

    def __init__(self) -> None:
        self._batches: dict[str, _Batch] = {}
        self._of: dict[Hashable, _Batch] = {}

    def begin(self, key: Hashable, source: str) -> None:
        """The output of that key is asked for."""
        if key in self._of:
            return
        batch = self._batches.setdefault(source, _Batch(source))
        batch.open += 1
        self._of[key] = batch

    def end(self, key: Hashable, arrived: Any | None) -> None:
        """It is there, and `arrived` its state on the worker; None if it is not wanted any more.

        Once all that was asked for with it is there, the transfer's span is told the bytes.
        """
        batch = self._of.pop(key, None)
        if batch is None:
            return
        batch.open -= 1
        batch.arrived.append(arrived)
        if not batch.open:
            del self._batches[batch.source]
            if None not in batch.arrived:
                _tell(batch.source, batch.arrived)


class _Batch:
    """What comes from one worker at once."""

    def __init__(self, source: str) -> None:
        self.source, self.open = source, 0
        self.arrived: list[Any] = []


def _tell(source: str, arrived: list[Any]) -> None:
    """Put the bytes into the span, which is with some task that needs one of the outputs."""
    for state in arrived:
        for cause in (*islice(state.dependents, LOOKED_AT), state):
            for span in reversed(cause.startstops):
                if span.get("source") == source and NBYTES not in span:
                    span[NBYTES] = sum(each.nbytes or 0 for each in arrived)
                    return
