"""Lane: where a planner works."""

from __future__ import annotations

import enum


class Lane(enum.StrEnum):
    """Where the portfolio lets a planner work.

    LIST: at once, in the caller's thread; milliseconds, and needed for a first schedule.
    SEARCH: by turns in the caller's thread, for as long as the budget lasts.
    HELPER: by turns in the helper's process: solvers, which may hang or crash.
    APART: in a thread of its own that is left behind if it hangs.
    """

    LIST = "list"
    SEARCH = "search"
    HELPER = "helper"
    APART = "apart"
