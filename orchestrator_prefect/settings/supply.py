"""Supply: what a task needs is there before it is submitted; plain Dask would wait for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from logging import Logger, LoggerAdapter
from typing import Any

from orchestrator_core.clean_text import clean
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.execute.dask.offers import Offer, fetch_offers
from orchestrator_core.graph.text import shown

Need = tuple[tuple[tuple[str, float], ...], tuple[str | int, ...]]
"""Resources with their amounts; workers of which any will do, none for all."""

SHOWN = 8
"""So many workers are named in a message."""


class Supply:
    """What the workers of one cluster have; asked for only where a task needs something.

    Args:
        client: a `distributed.Client`. logger: is told once what is missing on a cluster that may
            still grow. waits: may every cluster grow?
    """

    def __init__(
        self, client: Any, logger: Logger | LoggerAdapter[Any], *, waits: bool = False
    ) -> None:
        self._client, self._logger, self._waits = client, logger, waits
        self._met: set[Need] = set()
        self._told: set[Need] = set()

    def check(self, task: str, resources: Mapping[str, float], workers: Sequence[Any]) -> None:
        """The task is about to be submitted.

        Raises:
            InfeasibleInstance: if it would wait for ever; names the task, what it needs, and what
                the workers have.
        """
        names = tuple(name if isinstance(name, (str, int)) else str(name) for name in workers)
        need = (tuple(sorted(resources.items())), names)
        if need == ((), ()) or need in self._met:
            return
        offers = self._offers()
        if offers is None:
            return
        if any(_meets(offer, need) for offer in offers):
            self._met.add(need)
            return
        missing = (
            f"task {shown(task)} needs {_wish(need)}, and no worker meets that ({_have(offers)})"
        )
        if not offers or self._may_grow(offers):
            self._tell(need, missing)
        else:
            raise InfeasibleInstance(f"{missing}: it would wait for ever. {_MEND}", task=task)

    def _offers(self) -> Sequence[Offer] | None:
        try:
            return fetch_offers(self._client)
        except Exception as error:
            self._logger.debug("The workers were not asked what they have: %r", error)
            return None

    def _may_grow(self, offers: Sequence[Offer]) -> bool:
        """Is the cluster adaptive, or not yet as large as was asked for?"""
        if self._waits:
            return True
        cluster = getattr(self._client, "cluster", None)
        if getattr(cluster, "_adaptive", None) is not None:
            return True
        return len(getattr(cluster, "plan", ())) > len(offers)

    def _tell(self, need: Need, missing: str) -> None:
        if need not in self._told:
            self._told.add(need)
            self._logger.warning("%s; it waits until a worker comes that does", missing)


_MEND = (
    "Start a worker that has it, as by `dask worker --resources 'GPU=1'`, or change the tag or "
    "annotation of the task; where workers come later, set ORCHESTRATOR_WAIT_FOR_WORKERS=true"
)


def _meets(offer: Offer, need: Need) -> bool:
    resources, workers = need
    enough = all(offer.resources.get(name, 0.0) >= amount for name, amount in resources)
    return enough and (not workers or any(_is_called(offer, name) for name in workers))


def _is_called(offer: Offer, name: str | int) -> bool:
    # What may be the name of a host is believed: to look it up takes too long.
    return offer.is_called(name) or "." in str(name) or name == "localhost"


def _wish(need: Need) -> str:
    resources, workers = need
    amounts = " and ".join(f"{amount:g} {clean(name)}" for name, amount in resources)
    names = " or ".join(map(shown, workers))
    place = f"worker {names}" if names else ""
    return " on ".join(part for part in (amounts, place) if part)


def _have(offers: Sequence[Offer]) -> str:
    """What there is, in a few words; workers that have the same stand together."""
    if not offers:
        return "there is no worker yet"
    groups: dict[str, list[str]] = {}
    for offer in offers:
        groups.setdefault(_resources(offer), []).append(clean(str(offer.name)))
    return "; ".join(f"{_some(names)}: {has}" for has, names in groups.items())


def _resources(offer: Offer) -> str:
    pairs = [(name, amount) for name, amount in sorted(offer.resources.items()) if amount]
    return ", ".join(f"{amount:g} {clean(name)}" for name, amount in pairs) or "no resources"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    noun = "worker" if len(names) == 1 else "workers"
    return f"{noun} {', '.join(names[:SHOWN])}{more}"
