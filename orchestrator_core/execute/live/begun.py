"""Which of the tasks that a worker was sent it has begun; schedulers are not told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from orchestrator_core.execute.live.sight import Sight


def begun(sight: Sight, rank: Mapping[str, int]) -> dict[str, tuple[str, float]]:
    """Tasks that are running, with their worker and since when (seconds).

    What workers said counts. Beyond that a worker with a free thread has begun, when its last task
    ended, the first by rank of those that it had been sent; or if there were none, the next that
    came.
    """
    sent: dict[str, list[str]] = defaultdict(list)
    for task, (worker, _) in sight.sent.items():
        sent[worker].append(task)
    last_end: dict[str, float] = defaultdict(float)
    for done in sight.finished.values():
        last_end[done.worker] = max(last_end[done.worker], done.end)
    threads = {w.name: w.threads - sight.others.get(w.name, 0) for w in sight.cluster.workers}
    running: dict[str, tuple[str, float]] = {}
    for worker, tasks in sent.items():
        for task, since in _on_worker(sight, tasks, last_end[worker], threads.get(worker, 1), rank):
            running[task] = (worker, since)
    return running


def _on_worker(
    sight: Sight, tasks: list[str], free_since: float, threads: int, rank: Mapping[str, int]
) -> list[tuple[str, float]]:
    running = [(task, sight.executing[task]) for task in tasks if task in sight.executing]
    waiting = [task for task in tasks if task not in sight.executing]
    while waiting and len(running) < threads:
        at_hand = [task for task in waiting if sight.sent[task][1] <= free_since]
        if at_hand:
            first = min(at_hand, key=lambda task: rank.get(task, 0))
        else:
            first = min(waiting, key=lambda task: sight.sent[task][1])
        waiting.remove(first)
        running.append((first, min(sight.now, max(free_since, sight.sent[first][1]))))
    return running
