"""Loading: a process loads what planning needs once, and not before that is worth its seconds."""

from __future__ import annotations

from threading import Thread

from orchestrator_core.plan import warm

LOADING = 2.5
"""Seconds that loading compiled code takes a process; worth it where planning may take as long."""

MOST_BRISK = 600
"""Tasks of a question that is answered without compiled code: interpreted, in some tenths of a
second."""

NOT_COMPILED = (
    f"not planned yet: what plans is being compiled, once on this machine, in {warm.COMPILING}"
)


class Loading:
    """How far this process is.

    Attributes:
        brisk: as in `Orchestrator`.
        holdup: for people: why loading, which is under way, takes minutes; empty where it does not.
        is_later: does nobody load before the first graph that can be planned? Who asks about it is
            told to ask again.
    """

    def __init__(self, brisk: bool) -> None:
        self.brisk = brisk
        self._begun = self._under_way = self.is_later = False
        self.holdup = ""

    @property
    def is_under_way(self) -> bool:
        """What takes minutes is not meant: until then, small graphs are planned without it."""
        return self._under_way and not self.holdup

    @property
    def comes_first(self) -> bool:
        """Has whoever asks to wait until it is done, or would load beside it?"""
        return self.is_later and (self.is_under_way or not self._begun)

    def may_be_brisk(self, tasks: int) -> bool:
        """Is a question about so many tasks answered without compiled code?"""
        return self.brisk and tasks <= MOST_BRISK and not warm.is_loaded()

    def now(self) -> None:
        """Load, unless that was begun before."""
        if self._begun:
            return
        self._begun = self._under_way = True
        try:
            from orchestrator_core.orchestrate import (  # noqa: F401
                at_once,
                decision,
                expect,
                schedules,
            )

            # To see that, too, loads the compiler, for which an event loop must not wait.
            self.holdup = NOT_COMPILED if warm.is_compiled_aside() else ""
            # Compiled here, it would hold up whoever asks meanwhile, and the flow's own threads.
            warm.warm_up_aside()
        finally:
            self._under_way, self.holdup = False, ""

    def ahead(self, tasks: int, beside: bool) -> None:
        """A run of so many tasks was recorded, which makes planning likely: load in a thread
        `beside`; or else see to it that the machine has what its next process will load."""
        if self._begun:
            return
        if beside:
            Thread(target=self.now, name="orchestrator-load", daemon=True).start()
        elif not self.may_be_brisk(tasks):
            warm.is_missing(warm.SIMULATION)
