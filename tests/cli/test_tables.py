"""Tables fit the terminal and show names as they are."""

from __future__ import annotations

import pytest
from rich.console import Console

from orchestrator_core.cli.tables import Column, make_table, print_table

COLUMNS = [
    Column("id"),
    Column("flow", elastic=True),
    Column("mode", spare=2),
    Column("took", right=True),
    Column("cache", spare=1),
]
ROW = ["12345678", "a-flow-with-a-long-name", "planned", "12.00 s", "hit"]


def lines(width: int, row: list[str] = ROW) -> list[str]:
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as shown:
        console.print(make_table(COLUMNS, [row], width))
    return [line.rstrip() for line in shown.get().splitlines()]


def test_everything_is_shown_where_there_is_room() -> None:
    assert lines(80)[0].split() == ["id", "flow", "mode", "took", "cache"]
    assert lines(80)[1].split("  ")[0:2] == ["12345678", "a-flow-with-a-long-name"]


def test_the_elastic_column_gives_way_first() -> None:
    (heading, row) = lines(55)
    assert heading.split() == ["id", "flow", "mode", "took", "cache"]
    assert "a-flow-with-a-lon…" in row
    assert "12345678" in row


def test_then_columns_are_left_out_the_most_spare_first() -> None:
    assert lines(46)[0].split() == ["id", "flow", "took", "cache"]
    assert lines(34)[0].split() == ["id", "flow", "took"]
    assert len(lines(34)) == 2, "a row stays one line"


def test_wide_characters_count_twice() -> None:
    (_, row) = lines(55, ["12345678", "流れ" * 12, "planned", "12.00 s", "hit"])
    assert "12.00 s" in row


def test_markup_and_emoji_codes_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([Column("name")], [["[bold]x[/bold] :smile: [/]"]], "nothing")
    assert "[bold]x[/bold] :smile: [/]" in capsys.readouterr().out


def test_an_empty_table_is_a_sentence_beside_the_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table([Column("name")], [], "nothing is there")
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "nothing is there\n")
