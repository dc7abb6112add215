"""Guests: for whom the plugin is on a scheduler that nobody has put it on for good.

Several clients may plan on one cluster at a time, each in a block of its own (`optimize`); who
leaves first must not take the plugin away from the others.
"""

from __future__ import annotations

from collections.abc import Container


class Guests:
    """The blocks that are open, by a token for each, and whose they are.

    Attributes:
        decide: do they decide how long the plugin stays? Not where somebody else has put it there.
    """

    def __init__(self, decide: bool = False) -> None:
        self.decide = decide
        self._client_of: dict[str, str] = {}

    def enter(self, token: str, client: str) -> None:
        """A block of that client, by its id, is open."""
        self._client_of[token] = client

    def leave(self, token: str) -> bool:
        """A block has ended; has the plugin to leave with it?"""
        self._client_of.pop(token, None)
        return self._is_over

    def only(self, clients: Container[str]) -> bool:
        """No more clients than these are there; has the plugin to leave?"""
        self._client_of = {t: client for t, client in self._client_of.items() if client in clients}
        return self._is_over

    @property
    def _is_over(self) -> bool:
        return self.decide and not self._client_of
