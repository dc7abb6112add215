"""What came of one set of cases under one transform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Row:
    """Attributes:
    counted: cases in which a pairwise value shall go. recognised: those of them in which none is
        left. error: the largest relative one of the right cases. wrong, missed: of which cases.
    """

    HEAD: ClassVar[str] = (
        f"{'set':<18} {'transform':<18} {'cases':>6} {'wrong':>6} {'recognised':>18} {'error':>9}"
    )

    name: str
    transform: str
    cases: int
    counted: int
    recognised: int
    error: float
    wrong: list[str]
    missed: list[str]

    @classmethod
    def of(cls, name: str, transform: str, done: Sequence[dict[str, Any]]) -> Row:
        counted = [each for each in done if each["counts"]]
        return cls(
            name,
            transform,
            len(done),
            len(counted),
            sum(each["is_recognised"] for each in counted),
            max((each["error"] for each in done if each["is_right"]), default=0.0),
            [f"{each['name']}: {each['why']}" for each in done if not each["is_right"]],
            [each["name"] for each in counted if not each["is_recognised"]],
        )

    def text(self) -> str:
        """A line of the table, and below it what is wrong and what was missed."""
        share = f"{100 * self.recognised / self.counted:.1f} %" if self.counted else ""
        found = f"{self.recognised}/{self.counted} {share}" if self.counted else "-"
        line = (
            f"{self.name:<18} {self.transform:<18} {self.cases:>6} {len(self.wrong):>6}"
            f" {found:>18} {self.error:>9.1e}"
        )
        wrong = [f"    wrong: {each}" for each in self.wrong]
        return "\n".join([line, *wrong, *(f"    missed: {each}" for each in self.missed)])

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
