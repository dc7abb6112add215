"""What came about in a simulation, as a schedule."""

from __future__ import annotations

from orchestrator_core.execute.simulate.event_loop import EventLoop
from orchestrator_core.plan.schedule import Schedule


def schedule_of(loop: EventLoop) -> Schedule:
    """The schedule of a loop that has run to its end."""
    units, graph = loop.units, loop.instance.graph
    keys = list(loop.transfers)
    times = list(loop.transfers.values())
    ptr = graph.mode_ptr.tolist()
    sent = [units.task[unit] for unit, _ in keys]
    return Schedule.from_columns(
        graph.names,
        loop.instance.cluster.names,
        task=units.task,
        instance=units.number,
        worker=loop.worker,
        mode=[mode - ptr[task] for mode, task in zip(loop.mode, units.task, strict=True)],
        start=loop.start,
        end=loop.end,
        transfer_task=sent,
        transfer_instance=[units.number[unit] for unit, _ in keys],
        transfer_source=[loop.worker[unit] for unit, _ in keys],
        transfer_destination=[worker for _, worker in keys],
        transfer_start=[start for start, _, _ in times],
        transfer_encoded=[encoded for _, encoded, _ in times],
        transfer_end=[end for _, _, end in times],
        transfer_nbytes=[loop.size[task] for task in sent],
    )
