"""Whether residuals are handed on from a forward part to its backward part."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Handover:
    """They are, until a forward part fails, which then makes none; a backward part that comes
    later does without. What has been compiled goes on to read them, so that once one has read them
    a forward part that fails is an error.

    Args:
        told: of what has failed.
    """

    def __init__(self, told: Callable[[Exception], None] = lambda _: None) -> None:
        self._told = told
        self._lock = threading.Lock()
        self._is_read = self._is_off = False

    @property
    def is_off(self) -> bool:
        """Is nothing handed on any more?"""
        return self._is_off

    def read(self) -> bool:
        """May residuals be read? If so, they have to be there from now on."""
        with self._lock:
            self._is_read |= not self._is_off
            return not self._is_off

    def failed(self, error: Exception, hands_on: bool) -> None:
        """A part could not be traced.

        Args:
            hands_on: is it the forward part?

        Raises:
            Exception: the error, if others read what is not there now.
        """
        with self._lock:
            if hands_on and self._is_read:
                raise error
            self._is_off |= hands_on
        self._told(error)
