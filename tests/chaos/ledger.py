"""Ledger: what each story took in each mode, and whether that is good enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tests.chaos.play import PLAIN, UNTESTED, Outcome, Story, play


@dataclass(frozen=True)
class Row:
    """One story in one mode; times in seconds."""

    story: str
    mode: str
    wall: float
    plain: float
    goal: float
    wrong: tuple[str, ...]
    notes: str

    @property
    def verdict(self) -> str:
        if self.wrong:
            return "WRONG"
        return "ok" if self.wall <= self.goal else "late"


class Ledger:
    """Plays stories, each once with plain Dask, and judges."""

    def __init__(self, slack: float) -> None:
        self.slack = slack
        self.rows: list[Row] = []
        self._plain: dict[str, Outcome] = {}

    def judge(
        self,
        name: str,
        story: Story,
        mode: str,
        *,
        allowance: float = 1.0,
        plain: Story | None = None,
        baseline: str = "",
        **options: Any,
    ) -> Outcome:
        """Play and assert: same results as plain Dask, nothing wrong, not much later.

        Args:
            allowance: seconds that the plugin may take beyond 1.25 times plain Dask.
            plain: what plain Dask plays, where the story itself would never end.
            baseline: name of a story that is the same for plain Dask, and played but once.
        """

        def play_plain() -> Outcome:
            return play(plain or story, PLAIN, **_without_make(options))

        base = self._base(baseline or name, play_plain)
        outcome = play(story, mode, **options)
        if outcome.wrong == [UNTESTED]:
            # A busy machine had no plan in time, so that Dask placed the tasks.
            outcome = play(story, mode, **options)
        if outcome.result != base.result and not outcome.wrong:
            outcome.wrong.append(f"result {outcome.result!r:.300} != {base.result!r:.300}")
        if outcome.wall > 1.25 * base.wall + allowance:
            # The machine may be busier than it was when plain Dask had its turn.
            again = play_plain()
            base = again if again.wall > base.wall and not again.wrong else base
        goal = 1.25 * base.wall + allowance
        wrong = tuple(outcome.wrong)
        self.rows.append(Row(name, mode, outcome.wall, base.wall, goal, wrong, outcome.notes))
        assert not outcome.wrong, f"{name} x {mode}: {outcome.wrong} {outcome.notes}"
        assert outcome.wall <= goal + self.slack, f"{name} x {mode}: {outcome.wall:.1f} s > {goal}"
        return outcome

    def _base(self, name: str, run: Callable[[], Outcome]) -> Outcome:
        if name not in self._plain:
            self._plain[name] = run()
        base = self._plain[name]
        assert not base.wrong, f"plain Dask itself fails {name}: {base.wrong}"
        return base

    def table(self) -> list[str]:
        """Lines for people."""
        lines = [f"{'story':<34}{'mode':<10}{'plain':>7}{'ours':>7}{'goal':>7}  verdict"]
        for row in self.rows:
            seconds = f"{row.plain:>7.2f}{row.wall:>7.2f}{row.goal:>7.2f}"
            said = "; ".join((*row.wrong, row.notes)).strip("; ")
            lines.append(f"{row.story:<34}{row.mode:<10}{seconds}  {row.verdict} {said:.160}")
        return lines

    def as_rows(self) -> list[dict[str, Any]]:
        """The table as plain data."""
        return [{**asdict(row), "verdict": row.verdict} for row in self.rows]


def _without_make(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != "make"}
