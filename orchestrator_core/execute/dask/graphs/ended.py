"""Ended: that a task was executed, as it is noted on the event loop; a `TaskRecord` in the making.

Thousands are noted in a second, and looked at later, if at all. A plain tuple takes a fifth of the
time of a dataclass, and the garbage collector learns to pass over it.
"""

from __future__ import annotations

from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.record import TaskRecord

Ended = tuple[
    Key, str, tuple[str, str], float, float, float, float, int,
    float | None, float | None, float, float | None,
]  # fmt: skip
"""Key, status, (worker, its kind), start, end, size of the output in bytes, seconds of transfers,
attempt, peak of the memory in bytes, seconds around the task's own code, seconds that were no work
of the task, and bytes that it needs on an accelerator; times in seconds from the start of the run.
"""


def as_record(label: tuple[str, str], ended: Ended) -> TaskRecord:
    """The record of the task with this name and kind."""
    _, status, (worker, worker_kind), start, end, nbytes, transfer, attempt = ended[:8]
    peak, overhead, setup, device = ended[8:]
    return TaskRecord(
        *label,
        worker=worker,
        worker_kind=worker_kind,
        start=start,
        end=end,
        nbytes=nbytes,
        transfer_seconds=transfer,
        attempt=attempt,
        memory_peak=peak,
        status=status,
        setup_seconds=setup,
        device_memory=device,
        overhead_seconds=overhead,
    )
