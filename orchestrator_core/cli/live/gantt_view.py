"""Plan and reality of a live run as a chart of characters: two rows for each worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from orchestrator_core import words
from orchestrator_core.cli.console import results
from orchestrator_core.cli.gantt import MOST_LINES, Palette, draw, margin_of
from orchestrator_core.cli.lanes import Piece, WorkerUse, pack
from orchestrator_core.cli.live.status_view import show_run
from orchestrator_core.report.gantt import short_kinds

Answer = Mapping[str, Any]
Span = tuple[str, str, float, float]
"""Worker, kind, start and end."""

WIDEST = 160
MOST_WORKERS = MOST_LINES // 2
PLANNED = "  planned"


def show(answer: Answer) -> None:
    """The run's figures, then for each worker what it did and what it was to do."""
    console = results()
    show_run(console, answer["run"])
    console.print()
    happened, planned = list(_happened(answer)), list(_planned(answer))
    kinds = sorted({kind for _, kind, _, _ in (*happened, *planned)})
    workers = _busiest(happened, planned)
    rows = list(_rows(workers, kinds, happened, planned, answer["threads"]))
    length = max([end for _, _, _, end in (*happened, *planned)], default=0.0)
    palette, width = Palette(short_kinds(kinds), rows), min(console.width, WIDEST)
    console.print(_now(answer, rows, length, width), no_wrap=True, overflow="crop")
    bound = answer["run"].get("lower_bound") or 0.0
    for line in draw(rows, palette, length, bound, width):
        console.print(line, no_wrap=True, overflow="crop")
    console.print(palette.legend(width))


def _happened(answer: Answer) -> Iterator[Span]:
    """What is done, and what runs now."""
    for _, kind, worker, start, end, _ in answer["recorded"]:
        yield worker, kind, start, end
    for _, kind, worker, state, since in answer["open"]:
        if state == "running":
            yield worker, kind, since, max(since, answer["now"])


def _planned(answer: Answer) -> Iterator[Span]:
    for _, kind, worker, start, end in answer["planned"]:
        yield worker, kind, start, end


def _busiest(happened: Iterable[Span], planned: Iterable[Span]) -> list[str]:
    """The workers that are shown, by name."""
    busy: dict[str, float] = {}
    for worker, _, start, end in (*happened, *planned):
        busy[worker] = busy.get(worker, 0.0) + end - start
    return sorted(sorted(busy, key=lambda name: (-busy[name], name))[:MOST_WORKERS])


def _rows(
    workers: Sequence[str],
    kinds: Sequence[str],
    happened: list[Span],
    planned: list[Span],
    threads: Mapping[str, int],
) -> Iterator[WorkerUse]:
    place = {kind: i for i, kind in enumerate(kinds)}
    for name in workers:
        # Of a worker that is gone, nobody knows how many threads it had.
        most = threads.get(name)
        yield _use(name, [span for span in happened if span[0] == name], place, most)
        if planned:
            yield _use(PLANNED, [span for span in planned if span[0] == name], place, most)


def _use(
    label: str, spans: Iterable[Span], place: Mapping[str, int], threads: int | None
) -> WorkerUse:
    pieces = sorted(
        (Piece(start, end, place[kind]) for _, kind, start, end in spans),
        key=lambda piece: (piece.start, piece.end),
    )
    lanes = pack(pieces, threads)
    return WorkerUse(
        name=label,
        kind="",
        threads=max(1, len(lanes)),
        tasks=len(pieces),
        busy=sum(piece.end - piece.start for piece in pieces),
        last_end=max((piece.end for piece in pieces), default=0.0),
        lanes=lanes,
    )


def _now(answer: Answer, rows: Sequence[WorkerUse], length: float, width: int) -> Text:
    """A mark above the chart where the time is now; of a run that ended, nothing."""
    now = answer["now"]
    if answer["run"]["closed"] or not 0 < now <= length:
        return Text("")
    margin = margin_of(rows)
    at = margin + round(max(10, width - margin - 2) * now / length)
    text = f"now, {words.seconds(now)} ▼"
    return Text(f"{text:>{at + 1}}" if len(text) <= at else f"{'':{at}}▼ now", "bold")
