"""Dask's policy: how its scheduler is set, where that decides what Dask alone comes to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DaskPolicy:
    """What people set; the defaults are those of distributed 2026.8.

    Attributes:
        saturation: units for each thread of a worker, rounded up, that it is given at most of those
            that wait on the scheduler, > 0; inf: none waits there.
        interval: seconds from one moment at which work is stolen to the next, > 0; inf: never.
    """

    saturation: float = 1.1
    interval: float = 1.0

    @classmethod
    def configured(cls) -> DaskPolicy:
        """As Dask's configuration says now, in this process; what no scheduler would start with is
        passed over."""
        import dask.config

        said = dask.config.get("distributed.scheduler", default={})
        saturation = _positive(said.get("worker-saturation"), cls().saturation)
        if not said.get("work-stealing", True):
            return cls(saturation, math.inf)
        return cls(saturation, _seconds(said.get("work-stealing-interval"), cls().interval))


def _positive(value: Any, default: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return default
    return number if number > 0 else default


def _seconds(value: Any, default: float) -> float:
    """Numbers are milliseconds, as for distributed."""
    from dask.utils import parse_timedelta

    try:
        return _positive(parse_timedelta(value, default="ms"), default)
    except (TypeError, ValueError, KeyError, AttributeError):
        return default
