"""The exact solver, asked for any schedule, in the helper's process (stage 3, real time)."""

from __future__ import annotations

import time

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.board import Board
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.crew import pool
from orchestrator_core.plan.crew.agenda import Agenda, Phase
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.planner import Planner
from orchestrator_core.plan.together import Aside

LEAST = 0.02
"""With fewer seconds left, the exact solver would be stopped before it has begun."""

LONGEST_START = 20.0
"""Seconds after which a helper counts as hanging that has not answered an empty question."""

ANY_GAP = 1e6
"""Any schedule will do."""

_WAIT = 0.02
"""Longest wait for the helper before the clock is read again, in seconds."""


def exact_planner() -> Planner:
    """CP-SAT; the import waits until it is needed."""
    from orchestrator_core.plan.cpsat.planner import CpSatPlanner

    return CpSatPlanner(workers=2)


def start(instance: Instance) -> None:
    """Wait until a helper answers, so that its start costs no budget; any instance will do."""
    until = time.monotonic() + LONGEST_START
    aside = Aside(Board(instance, Budget(), MAKESPAN), (), until)
    aside.wait(until)
    aside.close()


class Exact:
    """CP-SAT on one instance; where it says that there is no schedule, that is a proof.

    What it does, if it hangs or crashes, costs only its process.
    """

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance, self.seed = instance, seed
        self._planner = exact_planner()
        self.able = self._planner.unsupported(instance) is None

    def ask(self, until: float) -> Board:
        """What it has found by `until` (`perf_counter`): a schedule, a proof, or nothing."""
        left = until - time.perf_counter()
        budget = Budget(seconds=max(0.0, left), seed=self.seed, gap=ANY_GAP)
        board = Board(self.instance, budget, MAKESPAN)
        if left >= LEAST:
            aside = Aside(board, self._agenda(), time.monotonic() + left)
            while aside.busy and _undecided(board) and (left := until - time.perf_counter()) > 0:
                aside.exchange(min(_WAIT, left))
            aside.close()
        return board

    def _agenda(self) -> Agenda:
        return (Phase(((self._planner, 1.0),)),)


def begin() -> None:
    """Start a helper if none is ready, without waiting for it."""
    pool.start()


def _undecided(board: Board) -> bool:
    return board.incumbent is None and not board.infeasible
