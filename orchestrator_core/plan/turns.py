"""Turns: planners that share one thread, a proposal at a time (stage 3)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from orchestrator_core.plan.planner import Brief, Planner, Proposal


class Turn:
    """One planner at work.

    Attributes:
        share: its part of the time, beside the shares of the others.
        seconds: wall seconds of its own steps so far.
        ended: it has nothing more to say.
        trouble: what it raised, in words; empty if nothing.
    """

    def __init__(self, planner: Planner, brief: Brief, share: float = 1.0) -> None:
        self.planner, self.brief, self.share = planner, brief, share
        self.seconds, self.ended, self.trouble = 0.0, False, ""
        self._proposals: Iterator[Proposal] | None = None

    @property
    def name(self) -> str:
        return self.planner.name

    def step(self) -> Proposal | None:
        """Its next proposal; None when it has ended, by itself or by raising."""
        began = time.perf_counter()
        try:
            if self._proposals is None:
                self._proposals = iter(self.planner.plan(self.brief))
            return next(self._proposals)
        except StopIteration:
            self.ended = True
        except Exception as error:  # a broken planner must not cost the plan
            self.ended, self.trouble = True, f"failed: {type(error).__name__}: {error}"
        finally:
            self.seconds += time.perf_counter() - began
        return None

    def close(self) -> None:
        """Leave it for good."""
        self.ended = True
        close = getattr(self._proposals, "close", None)
        if close is not None:
            close()


def take_turns(turns: Sequence[Turn]) -> Iterator[tuple[Turn, Proposal | None]]:
    """Step after step, always of the one that had the least of its share; None when one ends."""
    while going := [turn for turn in turns if not turn.ended]:
        turn = min(going, key=lambda each: each.seconds / each.share)
        yield turn, turn.step()
