"""The search in the caller's thread and the crew's helper beside it, until the budget is spent."""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence

from orchestrator_core.plan.board import Board
from orchestrator_core.plan.crew import pool
from orchestrator_core.plan.crew.agenda import Agenda
from orchestrator_core.plan.crew.helper import Helper
from orchestrator_core.plan.crew.messages import Ask, Failed, Found, Gone, Idle, News
from orchestrator_core.plan.planner import Planner
from orchestrator_core.plan.turns import Turn, take_turns

GRACE_BY_STEPS = 600.0
"""Seconds after which a helper counts as hanging where the budget counts steps: slow is no hang."""

_WAIT = 0.02
"""Longest wait for the helper before the clock is read again, in seconds."""


def search(board: Board, planners: Sequence[Planner], until: float, aside: Aside | None) -> None:
    """Let the planners take turns until there is nothing left to gain, or no time."""
    turns = [Turn(planner, board.brief(until - time.monotonic())) for planner in planners]
    by_steps = board.budget.iterations is not None
    for turn, proposal in take_turns([] if board.good_enough else turns):
        if proposal is not None:
            board.consider(turn.name, proposal, turn.seconds)
        elif turn.trouble:
            board.note(turn.name, turn.trouble, turn.seconds)
        if aside is not None:
            aside.exchange()
        for each in turns:
            board.renew(each.brief)
        if board.good_enough or (not by_steps and time.monotonic() >= until):
            break
    for turn in turns:
        turn.close()


class Aside:
    """An agenda at work in a helper, seen from the caller's side."""

    def __init__(self, board: Board, agenda: Agenda, until: float) -> None:
        self.board, self.names = board, _names(agenda)
        self._helper: Helper | None = pool.borrow()
        if self._helper is None:
            self._say("was not tried: the system refuses another process")
            return
        self._told = (board.incumbent, board.bound.seconds)
        brief = board.brief(until - time.monotonic())
        self._number = self._helper.ask(
            Ask(
                number=0,
                until=until,
                instance=brief.instance,
                budget=brief.budget,
                objective=brief.objective,
                incumbent=brief.incumbent,
                lower_bound=brief.lower_bound,
                agenda=agenda,
            )
        )

    @property
    def busy(self) -> bool:
        return self._helper is not None

    def exchange(self, wait: float = 0.0) -> None:
        """Take in what the helper has found, and tell it what others have; waits for the first."""
        while self._helper is not None:
            try:
                message = self._helper.inbox.get(block=wait > 0, timeout=wait or None)
            except queue.Empty:
                break
            wait = 0.0
            self._take(message)
        self._tell()

    def wait(self, until: float) -> None:
        """Until the agenda is through, the gap is small enough, or the time is over."""
        while self.busy and not self.board.good_enough and (left := until - time.monotonic()) > 0:
            self.exchange(min(_WAIT, left))

    def close(self) -> None:
        """Leave it: what it finds from now on is lost. Who has said nothing is named."""
        self.exchange()
        if self._helper is not None:
            for name in self.names:
                if name not in self.board.attempts:
                    self.board.note(name, "had said nothing when planning ended")
            self._helper.stop()
            self._done()

    def hang(self) -> None:
        """Name it as hanging, and end it."""
        if self._helper is not None:
            self._say("hung, and was left behind")
            self._helper.end()
            self._helper = None

    def _take(self, message: object) -> None:
        match message:
            case Found(number, planner, proposal, seconds) if number == self._number:
                self.board.consider(planner, proposal, seconds)
            case Failed(number, planner, note, seconds) if number == self._number:
                self.board.note(planner, note, seconds)
            case Idle(number) if number == self._number:
                self._done()
            case Gone(note):
                self._say(note)
                self._helper = None

    def _tell(self) -> None:
        now = (self.board.incumbent, self.board.bound.seconds)
        if self._helper is not None and now != self._told and not self.board.infeasible:
            self._told = now
            self._helper.tell(News(self._number, *now))

    def _done(self) -> None:
        if self._helper is not None:
            pool.give_back(self._helper)
            self._helper = None

    def _say(self, note: str) -> None:
        for name in self.names:
            self.board.note(name, note)


def _names(agenda: Agenda) -> list[str]:
    return list(dict.fromkeys(planner.name for phase in agenda for planner, _ in phase.shares))


def one_by_one(board: Board, planners: Sequence[Planner]) -> None:
    """The helper's planners after each other, each to its end: the same on every machine."""
    from orchestrator_core.plan.crew.agenda import Phase

    for planner in planners:
        if board.good_enough:
            return
        until = time.monotonic() + GRACE_BY_STEPS
        aside = Aside(board, (Phase(((planner, 1.0),)),), until)
        aside.wait(until)
        if time.monotonic() >= until:
            aside.hang()
        aside.close()
