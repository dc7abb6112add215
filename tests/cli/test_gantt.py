"""The chart of characters."""

from __future__ import annotations

from rich.cells import cell_len

from orchestrator_core.cli.gantt import COLOURS, MOST_LINES, OTHER_COLOUR, Palette, draw
from orchestrator_core.cli.lanes import Piece, WorkerUse


def use(name: str, *lanes: list[Piece], threads: int | None = None) -> WorkerUse:
    pieces = [piece for lane in lanes for piece in lane]
    return WorkerUse(
        name=name,
        kind="kind",
        threads=threads or max(1, len(lanes)),
        tasks=len(pieces),
        busy=sum(piece.end - piece.start for piece in pieces),
        last_end=max((piece.end for piece in pieces), default=0.0),
        lanes=tuple(map(tuple, lanes)),
    )


def chart(uses: list[WorkerUse], makespan: float, bound: float, width: int) -> list[str]:
    kinds = [f"k{i}" for i in range(20)]
    return [line.plain for line in draw(uses, Palette(kinds, uses), makespan, bound, width)]


def test_bars_are_as_long_as_their_time_and_end_with_a_gap() -> None:
    """20 cells for 20 s: `a` works 10 s, then 10 s; `b` waits 10 s, then works 5 s."""
    uses = [
        use("a", [Piece(0, 10, 0), Piece(10, 20, 1)]),
        use("b", [Piece(10, 15, 0)]),
    ]
    lines = chart(uses, 20.0, 20.0, 24)
    assert lines[0] == "a │" + "█" * 9 + "▉" + "█" * 9 + "▉"
    assert lines[1] == "b │" + " " * 10 + "████▉" + " " * 5


def test_a_cell_is_as_full_as_its_time_is_busy() -> None:
    lines = chart([use("a", [Piece(0.0, 2.5, 0), Piece(9.0, 10.0, 0)])], 10.0, 0.0, 14)
    assert lines[0] == "a │██▌      ▉"


def test_each_thread_has_a_line_with_the_name_at_the_first() -> None:
    lines = chart([use("a", [Piece(0, 10, 0)], [Piece(0, 5, 0)]), use("idle")], 10.0, 10.0, 14)
    assert [line[:6].rstrip() for line in lines[:3]] == ["a    │", "     │", "idle │"]


def test_the_axis_carries_the_end_and_the_bound() -> None:
    lines = chart([use("a", [Piece(0, 10, 0)])], 10.0, 8.0, 60)
    assert lines[1].strip().startswith("└")
    assert lines[2].split() == ["0", "s", "2.50", "s", "5.00", "s", "7.50", "s", "10.00", "s"]
    assert lines[3].strip() == "no plan ends before 8.00 s ▲"
    assert all(len(line) <= 60 for line in lines)


def test_more_threads_than_lines_become_heights() -> None:
    """64 threads, of which half are busy in the first half of the time."""
    lanes = [[Piece(0, 5, 0)] for _ in range(32)]
    lines = chart([use("big", *lanes, [], threads=64)], 10.0, 0.0, 15)
    assert lines[0] == "big │" + "▄" * 5 + " " * 5
    assert lines[1].strip().startswith("└")


def test_more_workers_than_lines_are_counted_and_the_busiest_shown() -> None:
    uses = [use(f"w{i:03}", [Piece(0, 1 + i, 0)]) for i in range(100)]
    lines = chart(uses, 100.0, 0.0, 80)
    shown = [line.split()[0] for line in lines if line.startswith("w")]
    assert len(shown) == MOST_LINES - 1
    assert shown == sorted(shown)
    assert shown[-1] == "w099"
    assert "and 69 more workers" in lines[MOST_LINES - 1]


def test_names_cannot_steer_the_terminal_or_break_the_margin() -> None:
    lines = chart([use("\x1b[31m" + "x" * 100, [Piece(0, 1, 0)]), use("b")], 1.0, 0.0, 60)
    assert "\x1b" not in lines[0]
    assert lines[0].index("│") == lines[1].index("│")


def test_the_kinds_with_the_most_work_get_colours() -> None:
    pieces = [Piece(i, i + 1 + i / 100, i) for i in range(8)]
    palette = Palette([f"[red]k{i}" for i in range(8)], [use("a", pieces)])
    assert palette.colour(7) == COLOURS[0]
    assert palette.colour(0) == OTHER_COLOUR
    legend = palette.legend(200)
    assert "[red]k7" in legend.plain
    assert "2 more kinds" in legend.plain


def test_the_legend_tears_no_entry_and_keeps_to_the_width() -> None:
    pieces = [Piece(i, i + 1, i) for i in range(7)]
    palette = Palette([f"kind {'x' * i}" for i in range(7)], [use("a", pieces)])
    lines = palette.legend(30).plain.splitlines()
    assert len(lines) > 2
    assert all(line.startswith("■ ") and len(line) <= 30 for line in lines)
    assert lines[-1].endswith("■ 1 more kind")


def test_a_schedule_of_no_length_can_be_drawn() -> None:
    assert chart([use("a", [Piece(0, 0, 0)])], 0.0, 0.0, 40)[0].startswith("a │")


def test_names_in_other_scripts_leave_the_bars_where_they_are() -> None:
    """Such a character takes two cells."""
    uses = [use("数据", [Piece(0, 20, 0)]), use("数" * 20, [])]
    lines = draw(uses, Palette(["k"], uses), 20.0, 0.0, 44)
    ends = [line.plain.index("│") for line in lines[:2]]
    assert [cell_len(line.plain[:end]) for line, end in zip(lines, ends, strict=False)] == [19, 19]
    assert lines[1].plain.startswith("数" * 8 + "…")


def test_a_long_kind_is_cut_in_the_legend() -> None:
    shown = [use("a", [Piece(0, 1, 0)])]
    (line,) = Palette(["k" * 200], shown).legend(80).plain.splitlines()
    assert line == "■ " + "k" * 39 + "…"
