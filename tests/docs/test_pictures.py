"""The pictures of README and guide: what makes them works, and those there show no more than meant.

A small recorded run stands for the real ones; `./dev pictures` makes the pictures themselves.
"""

from __future__ import annotations

import re
import socket
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from orchestrator_core.store.sql import ScheduleStore
from tests.report.hostile import NAMES, run_of
from tests.report.runs import two_worker_run, wide_run

ROOT = Path(__file__).parents[2]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
LINK = re.compile(r"!\[(.*?)\]\((.+?)\)")
LARGEST = 200_000
"""Bytes of a picture."""

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _script(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script's own modules can be imported, as they can by the script."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "pictures"))


def texts(svg: str) -> list[str]:
    """All words of the picture, element by element."""
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text")]


def bars(svg: str) -> list[Any]:
    """The boxes without those of the legend, which are round."""
    found = ET.fromstring(svg).iter(f"{SVG}rect")
    return [box for box in found if "rx" not in box.attrib and "fill" in box.attrib]


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_small_well_formed_and_tells_nothing_of_its_machine(path: Path) -> None:
    from making.masked import told

    svg = path.read_text(encoding="utf-8")
    assert len(svg.encode()) < LARGEST
    assert ET.fromstring(svg).tag == f"{SVG}svg"
    assert told(svg) == []
    assert "prefers-color-scheme:dark" in svg


def test_each_picture_is_shown_with_words_and_each_shown_one_is_there() -> None:
    shown = set()
    for file in DOCS:
        for words, target in LINK.findall(file.read_text(encoding="utf-8")):
            assert len(words) > 20, f"{file.name}: {target} has no words for who cannot see it"
            assert (file.parent / target).is_file(), f"{file.name}: {target} is not there"
            shown.add((file.parent / target).resolve())
    assert shown == set(PICTURES)


def test_the_figures_in_the_words_of_the_first_picture_are_those_it_shows() -> None:
    (words, _), *_ = LINK.findall(DOCS[0].read_text(encoding="utf-8"))
    shown = " ".join(texts((ROOT / "docs/pictures/demo.svg").read_text(encoding="utf-8")))
    figures = re.findall(r"\d+\.\d s", words)
    assert len(figures) == 4
    assert all(figure in shown for figure in figures)


def test_the_terminal_is_drawn_cell_by_cell_in_its_colours() -> None:
    from making.terminal import CELL, MARGIN, picture

    svg = picture("orchestrator plan x", "\x1b[1mw0\x1b[0m │\x1b[38;5;75m██▌\x1b[0m a < b & c", 40)
    assert texts(svg) == ["$", "orchestrator plan x", "w0", "│", "a < b & c"]
    (bar,) = [box for box in ET.fromstring(svg).iter(f"{SVG}rect") if box.get("class") != "paper"]
    assert float(bar.attrib["x"]) == pytest.approx(MARGIN + 4 * CELL, abs=0.1)
    assert float(bar.attrib["width"]) == pytest.approx(2.5 * CELL, abs=0.1)
    assert f".{bar.attrib['class']}{{fill:#5fafff}}" in svg


def test_a_line_too_long_goes_on_in_the_next_and_leaves_the_paper_nowhere() -> None:
    from making.terminal import CELL, MARGIN, picture

    words = ET.fromstring(picture("orchestrator", "word " * 40, 30)).iter(f"{SVG}text")
    ends = [float(each.attrib["x"]) + float(each.attrib["textLength"]) for each in words]
    assert len(ends) > 8
    assert max(ends) <= MARGIN + 30 * CELL + 0.1


def test_a_run_is_drawn_below_its_plan_with_forecast_and_bound() -> None:
    from making.charts import planned_above_actual

    svg, words = planned_above_actual(two_worker_run())
    assert len(bars(svg)) == 6
    assert {"fast", "slow", "no plan can beat 5.0 s", "predicted 6.0 s"} <= set(texts(svg))
    assert words.endswith("took 6.6 s, predicted 6.0 s, and no plan can beat 5.0 s.")
    actual = [box for box in bars(svg) if box.get("class") is None]
    lengths = [float(box.attrib["width"]) for box in actual]
    assert lengths[2] / lengths[1] == pytest.approx(3.0, rel=0.03)


def test_a_watched_run_stands_above_a_planned_one_on_the_same_axis() -> None:
    from making.charts import before_and_after

    watched, planned = wide_run(12, 3), two_worker_run()
    figures = {"stock_s": 4.7, "observed_s": 4.1, "actual_s": 6.7}
    promised = {"predicted_s": 6.2, "lower_bound_s": 5.1}
    svg, words = before_and_after(watched, planned, figures | promised)
    assert len(bars(svg)) == 12 + 3
    assert words.endswith(
        "order: 4.1 s. Planned: 6.7 s, predicted 6.2 s, and no plan can beat 5.1 s."
    )
    assert texts(svg)[0].startswith("Dask's own order: 4.1 s")
    assert {"predicted 6.2 s", "no plan can beat 5.1 s"} <= set(texts(svg))
    ticks = [text for text in texts(svg) if re.fullmatch(r"\d+ s", text)]
    assert len(ticks) == 2 * len(set(ticks)) > 8


def test_hostile_names_are_only_text_and_stay_on_the_paper() -> None:
    from making.charts import planned_above_actual

    svg, _ = planned_above_actual(run_of(NAMES, "</svg><script>alert(1)</script>"))
    kinds = {element.tag.removeprefix(SVG) for element in ET.fromstring(svg).iter()}
    assert kinds == {"svg", "title", "style", "rect", "text", "tspan", "path"}
    assert max(float(box.attrib["x"]) for box in bars(svg)) < 900


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<text>fetched from http://example.org</text>", "an address"),
        ("<script>1</script>", "a script"),
        ("<text>/home/somebody/flow.py</text>", "a path"),
        ("<text>tcp 10.1.2.3</text>", "an address of a machine"),
        ("<text>on tell-tale-host</text>", "the host"),
    ],
)
def test_what_tells_of_a_machine_is_found(
    text: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from making.masked import told

    monkeypatch.setattr(socket, "gethostname", lambda: "tell-tale-host")
    assert found in told(text)
    assert told("<text>saves 31 %, in ~/demo/schedules.db</text>") == []


def test_folders_are_masked_the_inner_ones_first() -> None:
    from making.masked import masked

    places = {Path("/home/me"): "~", Path("/home/me/demo"): "/tmp/demo"}
    assert masked("/home/me/demo/a /home/me/b", places) == "/tmp/demo/a ~/b"


def test_the_command_line_is_asked_in_colours(tmp_path: Path) -> None:
    from making.asked import ask

    with_run = ScheduleStore(str(tmp_path / "schedules.db"))
    with_run.add_run(two_worker_run())
    with_run.close()
    printed = ask("orchestrator runs", tmp_path, {"ORCHESTRATOR_DB": "schedules.db"})
    assert "\x1b[1m" in printed
    assert "nightly" in printed
    with pytest.raises(RuntimeError, match="nosuchrun"):
        ask("orchestrator why nosuchrun x", tmp_path, {"ORCHESTRATOR_DB": "schedules.db"})


def test_what_stands_between_the_marks_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    from making.texts import put, quoted

    file = tmp_path / "a.md"
    file.write_text("before\n<!-- it begins -->\nold\n<!-- it ends -->\nafter\n")
    put(quoted("# Plan\n\n| a |"), "it", file)
    whole = "before\n<!-- it begins -->\n> **Plan**\n>\n> | a |\n<!-- it ends -->\nafter\n"
    assert file.read_text() == whole
    put(quoted("# Plan\n\n| a |"), "it", file)
    assert file.read_text() == whole
    with pytest.raises(ValueError, match="other"):
        put("x", "other", file)
