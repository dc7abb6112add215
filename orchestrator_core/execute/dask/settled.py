"""Settled: what was loaded is passed over when garbage is looked for.

Python now and then goes through all that lives in its process, and whatever thread it happens to be
in waits: 25 ms in a scheduler alone, 90 to 140 once planners, a compiler and a library for
databases are loaded. Modules live on anyway; frozen, they are not looked at.
"""

from __future__ import annotations

import gc
import sys
import threading

MANY = 50
"""Modules that came since the last time; fewer are not worth it."""


class Settled:
    """Freezes what has been loaded, in processes that are there for the scheduler alone.

    There the event loop runs in the main thread, as it does where somebody runs an asynchronous
    cluster himself. Else, in a process of the user's own, what he has made is as alive as our
    modules, and would not be looked at until the plugin leaves. What somebody froze before us
    stays frozen, and with it what we did: Python cannot tell them apart.
    """

    def __init__(self) -> None:
        self._modules = 0
        self._has_others = gc.get_freeze_count() > 0

    def look(self) -> None:
        """Freeze what was loaded since the last time, if that is much; takes microseconds."""
        modules = len(sys.modules)
        if modules - self._modules >= MANY and _is_main_thread():
            self._modules = modules
            gc.freeze()

    def leave(self) -> None:
        """Nothing of ours stays frozen, where nothing was frozen before us."""
        if self._modules and not self._has_others:
            gc.unfreeze()
        self._modules = 0


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
