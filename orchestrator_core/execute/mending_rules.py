"""When a plan in force is changed: as the director does it, and as the simulator takes it."""

from __future__ import annotations

PAUSE = 0.25
"""Least seconds between two looks at the same run."""

WORTH = 0.05
"""Part of the remaining time that a change must save."""

WORTH_SECONDS = 0.1
"""Seconds that it must save at least."""
