"""Answering one question in the helper's process: the agenda's planners by turns."""

from __future__ import annotations

import dataclasses
import queue
import time
from collections.abc import Callable, Iterator
from typing import Any

from orchestrator_core.plan.crew.agenda import Phase
from orchestrator_core.plan.crew.messages import Ask, Failed, Found, Idle, News, Stop
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.turns import Turn, take_turns

TELL_EVERY = 0.2
"""Seconds of its own after which a planner's note is passed on though it has found nothing."""

RISE, LATELY = 2e-3, 0.05
"""By so much, relative, a bound must rise within so much of the time to count as rising."""

Send = Callable[[Any], None]


def answer(ask: Ask, inbox: queue.SimpleQueue[Any], send: Send) -> None:
    """Send what the planners find until the agenda is through or the caller says stop."""
    work = _Work(ask, inbox, send)
    for phase in ask.agenda:
        if not work.through(phase):
            break
    work.close()
    send(Idle(ask.number))


class _Work:
    """The turns of one question."""

    def __init__(self, ask: Ask, inbox: queue.SimpleQueue[Any], send: Send) -> None:
        self.ask, self.inbox, self.send = ask, inbox, send
        self.began = time.monotonic()
        self.turns: dict[str, Turn] = {}
        self.told: dict[str, float] = {}
        self.unsaid: dict[str, str] = {}
        self.news = News(ask.number, ask.incumbent, ask.lower_bound)
        self.rise = _Rise(ask.lower_bound)

    def through(self, phase: Phase) -> bool:
        """Work on the phase; False if the caller has had enough."""
        turns = list(self._turns_of(phase))
        for turn, proposal in take_turns(turns):
            self._report(turn, proposal)
            if not self._listen():
                return False
            if self.ask.budget.iterations is None and self._is_over(phase):
                break
        return True

    def _is_over(self, phase: Phase) -> bool:
        """Is the phase's time up?"""
        spent = self._spent()
        return spent >= phase.until and (spent >= phase.rising or not self.rise.is_recent(spent))

    def _spent(self) -> float:
        """The part of the question's time that is spent."""
        whole = self.ask.until - self.began
        return (time.monotonic() - self.began) / whole if whole > 0 else 1.0

    def close(self) -> None:
        for turn in self.turns.values():
            turn.close()

    def _turns_of(self, phase: Phase) -> Iterator[Turn]:
        for planner, share in phase.shares:
            turn = self.turns.get(planner.name)
            if turn is None:
                turn = self.turns[planner.name] = Turn(planner, self._brief(), share)
            turn.share = share
            yield turn

    def _brief(self) -> Brief:
        budget = self.ask.budget
        left = max(0.0, self.ask.until - time.monotonic())
        return Brief(
            instance=self.ask.instance,
            budget=dataclasses.replace(budget, seconds=left),
            objective=self.ask.objective,
            incumbent=self.news.incumbent,
            lower_bound=self.news.lower_bound,
        )

    def _report(self, turn: Turn, proposal: Proposal | None) -> None:
        number = self.ask.number
        if proposal is not None:
            self.rise.note(proposal.lower_bound, self._spent())
        if proposal is None:
            if note := self.unsaid.pop(turn.name, ""):
                self.send(Found(number, turn.name, Proposal(note=note), turn.seconds))
            if turn.trouble:
                self.send(Failed(number, turn.name, turn.trouble, turn.seconds))
        elif self._is_news(proposal) or self._is_time_for_a_note(turn):
            self.unsaid.pop(turn.name, None)
            self.told[turn.name] = turn.seconds
            self.send(Found(number, turn.name, proposal, turn.seconds))
        elif proposal.note:
            self.unsaid[turn.name] = proposal.note

    def _is_news(self, proposal: Proposal) -> bool:
        found = any(x is not None for x in (proposal.schedule, proposal.seed, proposal.least))
        return found or proposal.lower_bound > self.news.lower_bound

    def _is_time_for_a_note(self, turn: Turn) -> bool:
        return turn.seconds - self.told.get(turn.name, 0.0) >= TELL_EVERY

    def _listen(self) -> bool:
        """Take in what the caller says; False if that is to stop."""
        while not self.inbox.empty():
            message = self.inbox.get()
            if isinstance(message, Stop) and message.number == self.ask.number:
                return False
            if isinstance(message, News) and message.number == self.ask.number:
                self.news = message
                for turn in self.turns.values():
                    turn.brief.incumbent = message.incumbent
                    turn.brief.lower_bound = message.lower_bound
        return True


class _Rise:
    """When what is proven rose the last time by more than a little."""

    def __init__(self, bound: float) -> None:
        self._bound, self._spent = bound, 0.0

    def note(self, bound: float, spent: float) -> None:
        """So much is proven when so much of the time is spent."""
        if bound > self._bound * (1 + RISE):
            self._bound, self._spent = bound, spent

    def is_recent(self, spent: float) -> bool:
        """Was it lately, now that so much of the time is spent?"""
        return spent - self._spent < LATELY
