"""When a plan in force is changed: as the director does it, and as the simulator takes it."""

from __future__ import annotations

PAUSE = 0.25
"""Least seconds between two looks at the same run."""

WORTH = 0.05
"""Part of the remaining time that a change must save."""

THRIFTY_WORTH, ANY_BYTES = 0.2, 0.5
"""The same where the plan saves memory; and from what saving on a change of such a plan may hold
more bytes than if all stayed where it is."""

WORTH_SECONDS = 0.1
"""Seconds that it must save at least."""
