"""What came about in a simulation, as lists and as a schedule."""

from __future__ import annotations

from functools import cached_property

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate.kernel.outcome import Came
from orchestrator_core.execute.simulate.kernel.state import (
    BEGUN,
    DESTINATION,
    ENCODED,
    END,
    START,
    THERE,
    UNIT,
    WORKER,
)
from orchestrator_core.execute.simulate.units import Units
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.schedule import Schedule


class Outcome:
    """A simulated run that has ended; lists are made when asked for.

    Attributes:
        came: the same as arrays. mode: (u,) position of each unit's mode among all modes.
    """

    def __init__(self, instance: Instance, units: Units, mode: Ints, came: Came) -> None:
        self.instance, self.units, self.mode, self.came = instance, units, mode, came

    @property
    def makespan(self) -> float:
        """When the last unit ended, seconds."""
        return float(self.came.when[:, END].max(initial=0.0))

    @cached_property
    def worker(self) -> list[int]:
        """(u,) where each unit ran."""
        return list(self.came.unit[:, WORKER].tolist())

    @cached_property
    def start(self) -> list[float]:
        """(u,) seconds."""
        return list(self.came.when[:, START].tolist())

    @cached_property
    def end(self) -> list[float]:
        """(u,) seconds."""
        return list(self.came.when[:, END].tolist())

    @cached_property
    def size(self) -> list[float]:
        """(u,) bytes of each output."""
        return list(self.units.problem.output_bytes.tolist())

    @cached_property
    def release(self) -> list[float]:
        """(u,) seconds before which no unit is ready."""
        return list(self.units.problem.release.tolist())

    @cached_property
    def transfers(self) -> dict[tuple[int, int], tuple[float, float, float]]:
        """(start, encoded, end) in seconds, by the (unit, destination) of each."""
        what, when = self.came.sent, self.came.sent_at
        keys = zip(what[:, UNIT].tolist(), what[:, DESTINATION].tolist(), strict=True)
        return dict(zip(keys, map(tuple, when.tolist()), strict=True))


def schedule_of(run: Outcome) -> Schedule:
    """The schedule that came about."""
    problem, came = run.units.problem, run.came
    unit, worker = came.sent[:, UNIT], came.unit[:, WORKER]
    return Schedule.from_columns(
        run.instance.graph.names,
        run.instance.cluster.names,
        task=problem.task,
        instance=problem.instance,
        worker=worker,
        mode=run.mode - problem.mode_begin,
        start=came.when[:, START],
        end=came.when[:, END],
        transfer_task=problem.task[unit],
        transfer_instance=problem.instance[unit],
        transfer_source=worker[unit],
        transfer_destination=came.sent[:, DESTINATION],
        transfer_start=came.sent_at[:, BEGUN],
        transfer_encoded=came.sent_at[:, ENCODED],
        transfer_end=came.sent_at[:, THERE],
        transfer_nbytes=problem.output_bytes[unit],
    )
