"""Place: that of the advisor on a scheduler whose plugin has none of its own.

Flows plan in their own processes, and put a plugin on the scheduler that plans nothing. Whoever
wants graphs planned there lends it an advisor, in a block (`optimize`) or for good.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from orchestrator_core.execute.dask.plans.advisory import Advisory

if TYPE_CHECKING:
    from orchestrator_core.execute.dask.plugin import OrchestratorPlugin
    from orchestrator_core.execute.dask.session import Session


class Place:
    """Attributes:
    lender: the plugin whose advisor and options are used for now; None for none.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.lender: OrchestratorPlugin | None = None

    def lend(self, plugin: OrchestratorPlugin) -> bool:
        """Unless somebody has done so before."""
        if self.lender is not None:
            return False
        self._session.hire(*plugin.offer())
        self.lender = plugin
        return True

    def give_back(self) -> Advisory | None:
        """What was lent; it closes when it has written its runs."""
        if self.lender is None:
            return None
        self.lender = None
        return self._session.dismiss()

    def leave(self, token: str) -> Advisory | None:
        """The block of that token has ended: what it lent."""
        return self.give_back() if self.lender and self.lender.guests.leave(token) else None

    def only(self, clients: Container[str]) -> None:
        """No more clients than these are there."""
        if self.lender and self.lender.guests.only(clients):
            self.give_back()
