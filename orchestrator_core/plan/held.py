"""Held: proposals that are judged together, where there is no time to check each of them."""

from __future__ import annotations

import math

from orchestrator_core.plan.board import Board
from orchestrator_core.plan.objectives.judge import Value
from orchestrator_core.plan.planner import Planner, Proposal
from orchestrator_core.plan.turns import Turn


class Held:
    """What planners proposed that the board has not heard of yet."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._proposals: list[tuple[Value, str, Proposal, float]] = []

    def ask(self, planner: Planner) -> None:
        """Keep all that the planner proposes."""
        turn = Turn(planner, self._board.brief(0.0))
        while (found := turn.step()) is not None:
            value: Value = (math.inf,)
            if found.schedule is not None:
                value = self._board.judge.value(found.schedule)
            self._proposals.append((value, planner.name, found, turn.seconds))
        if turn.trouble:
            self._board.note(planner.name, turn.trouble, turn.seconds)

    def release(self) -> None:
        """Tell the board, the best first: what is no better than a valid schedule, it need not
        check."""
        for _, name, found, seconds in sorted(self._proposals, key=lambda each: each[0]):
            self._board.consider(name, found, seconds)
        self._proposals.clear()
