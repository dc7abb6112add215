"""Kept: verdicts, in memory and, if there is one, in a file of a line each."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec


class Seeded(Protocol):
    """What comes of a seed."""

    seed: int


Verdict = TypeVar("Verdict", bound=Seeded)


class Kept(Generic[Verdict]):
    """Verdicts by seed."""

    def __init__(self, path: Path | None, kind: type[Verdict]) -> None:
        self.path = path
        self.by_seed: dict[int, Verdict] = {}
        lines = path.read_bytes().splitlines() if path is not None and path.exists() else []
        for line in lines:
            verdict = msgspec.json.decode(line, type=kind)
            self.by_seed[verdict.seed] = verdict

    def __contains__(self, seed: int) -> bool:
        return seed in self.by_seed

    def add(self, verdict: Verdict) -> None:
        self.by_seed[verdict.seed] = verdict
        if self.path is not None:
            with self.path.open("ab") as file:
                file.write(msgspec.json.encode(verdict) + b"\n")

    def since(self, first: int, count: int) -> list[Verdict]:
        """The first so many from a seed on."""
        return [self.by_seed[seed] for seed in sorted(self.by_seed) if seed >= first][:count]
