"""Offers: what the workers of a running cluster have, asked of its scheduler.

The scheduler need not have this project: the question travels by value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Offer:
    """A worker: what it is called, at which address and on which host, and what it has.

    Attributes:
        name: text or a number; to Dask, worker 0 is not worker "0".
    """

    name: str | int
    address: str
    host: str
    resources: Mapping[str, float]

    def is_called(self, name: object) -> bool:
        """Does Dask take this name, host or address for the worker?"""
        return name in (self.name, self.address, self.host, self.address.split("://")[-1])


def fetch_offers(client: Any) -> Sequence[Offer]:
    """The workers that are there now.

    Args:
        client: a `distributed.Client` that is not asynchronous.

    Raises:
        Exception: whatever talking to the scheduler meets.
    """
    found = client.run_on_scheduler(_question())
    return [Offer(*row) for row in found]


def _question() -> Callable[..., Any]:
    # A function inside a function is pickled by value.
    def offers(dask_scheduler: Any) -> list[tuple[str | int, str, str, dict[str, float]]]:
        return [
            (worker.name, worker.address, worker.host, dict(worker.resources))
            for worker in dask_scheduler.workers.values()
        ]

    return offers
