"""Workers in the process of their scheduler, whose clock is theirs."""

from __future__ import annotations

from distributed import Worker


class OneClockWorker(Worker):
    """Not told how far off its clock is: that is taken from how long a heartbeat was under way, and
    is wrong by half a second where a machine has more to do than it can."""

    @property
    def scheduler_delay(self) -> float:  # type: ignore[override]
        return 0.0

    @scheduler_delay.setter
    def scheduler_delay(self, seconds: float) -> None:
        pass
