"""A section of an explanation: one program, and what was found in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator_core.conductor.site import Price, Site


@dataclass(frozen=True, slots=True)
class Section:
    """Attributes:
    what: ``the function``, ``its pullback`` and so on. sites: what was found in it.
    origin: who decided. seconds: how long that took. notes: what else is to be said.
    before, after: the price of the whole; None if it is not known or nothing changed.
    """

    what: str
    sites: tuple[Site, ...]
    origin: str
    seconds: float
    notes: tuple[str, ...] = ()
    before: Price | None = None
    after: Price | None = None

    @property
    def changed(self) -> int:
        """Sites that were changed."""
        return sum(site.is_changed for site in self.sites)


@dataclass(frozen=True, slots=True)
class Row:
    """Sites that say the same, as those of equal layers: the first, how often, and all prices."""

    site: Site
    count: int


def rows_of(sites: Sequence[Site]) -> list[Row]:
    """Equal sites together, what was changed first; otherwise in their order."""
    groups: dict[tuple[str, ...], list[Site]] = {}
    for site in sites:
        key = (site.rewrite, site.source, site.found, site.chosen, site.reason)
        groups.setdefault(key, []).append(site)
    rows = [Row(_together(group), len(group)) for group in groups.values()]
    return sorted(rows, key=lambda row: not row.site.is_changed)


def _together(sites: Sequence[Site]) -> Site:
    """Seconds are added; of bytes, which are held one after another, the most count."""
    measured = [site.measured for site in sites if site.measured is not None]
    whole = len(measured) == len(sites)
    return replace(
        sites[0],
        before=_sum([site.before for site in sites]),
        after=_sum([site.after for site in sites]),
        measured=(sum(b for b, _ in measured), sum(a for _, a in measured)) if whole else None,
    )


def _sum(prices: Sequence[Price | None]) -> Price | None:
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return None
    return Price(sum(p.seconds for p in known), max(p.temp_bytes for p in known))
