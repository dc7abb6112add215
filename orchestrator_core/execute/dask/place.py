"""Place: that of the advisor on a scheduler whose plugin has none of its own.

Flows plan in their own processes, and put a plugin on the scheduler that plans nothing. Whoever
wants graphs planned there lends it an advisor, in a block (`optimize`) or for good.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Protocol

from orchestrator_core.execute.advice import Advisor
from orchestrator_core.execute.dask.config import Options
from orchestrator_core.execute.dask.guests import Guests
from orchestrator_core.execute.dask.plans.advisory import Advisory
from orchestrator_core.execute.dask.session import Session


class Lender(Protocol):
    """A plugin that could plan.

    Attributes:
        guests: the blocks for which it has come.
    """

    guests: Guests

    def offer(self) -> tuple[Options, Callable[[], Advisor]]:
        """Its options, and what makes its advisor."""
        ...


class Place:
    """Attributes:
    lender: the plugin whose advisor and options are used for now; None for none.

    Args:
        on_free: called whenever somebody else may lend.
    """

    def __init__(self, session: Session, on_free: Callable[[], None]) -> None:
        self._session = session
        self._on_free = on_free
        self.lender: Lender | None = None

    def lend(self, plugin: Lender) -> bool:
        """Unless somebody has done so before."""
        if self.lender is not None:
            return False
        self._session.hire(*plugin.offer())
        self.lender = plugin
        return True

    def is_lent_by(self, plugin: object) -> bool:
        return self.lender is not None and plugin is self.lender

    def give_back(self) -> Advisory | None:
        """What was lent; it closes when it has written its runs."""
        if self.lender is None:
            return None
        self.lender = None
        dismissed = self._session.dismiss()
        self._on_free()
        return dismissed

    def leave(self, token: str) -> Advisory | None:
        """The block of that token has ended: what it lent."""
        return self.give_back() if self.lender and self.lender.guests.leave(token) else None

    def only(self, clients: Container[str]) -> None:
        """No more clients than these are there."""
        if self.lender and self.lender.guests.only(clients):
            self.give_back()
