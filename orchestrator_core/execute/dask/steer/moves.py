"""Moving a task that was sent already, by the protocol that Dask's work stealing uses.

The worker that has the task is asked to give it up; it refuses if it has begun. Until it answers,
the task counts as in flight and nobody else steals it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState, WorkerState


def request_move(scheduler: Scheduler, task: TaskState, destination: WorkerState) -> bool:
    """Ask for the task to be moved; False where it is there already or nobody can be asked."""
    stealing: Any = scheduler.extensions.get("stealing")
    victim = task.processing_on
    if stealing is None or victim is None or victim is destination:
        return False
    answer: str = stealing.move_task_request(task, victim, destination)
    return answer.startswith("steal-")
