"""The page, opened in a real browser: it draws, and says nothing to the network or the console."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from orchestrator_core.report import write
from tests.report.hostile import NAMES, run_of
from tests.report.runs import two_worker_run, wide_run

BROWSER = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=2000",
]


def opened(page, profile):
    """The page's DOM after its script ran, and the browser's console."""
    command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


needs_a_browser = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium or Chrome on this machine"
)


@needs_a_browser
@pytest.mark.parametrize(
    ("run", "bars"),
    [
        (two_worker_run(), 6),
        (run_of(NAMES, "</script><b>"), 2 * len(NAMES)),
        (wide_run(10_000, 16), 10_000),
    ],
    ids=["small", "hostile names", "10,000 tasks"],
)
def test_the_browser_draws_every_bar_without_a_word(tmp_path, run, bars):
    dom, console = opened(write(run, tmp_path / "r.html"), tmp_path / "profile")
    assert re.search(r'data-drawn="(\d+)"', dom).group(1) == str(bars)
    assert console == []


POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
ASK = """<script>
const said = [], draw = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
  said.push(text); return draw.call(this, text, ...at);
};
addEventListener("load", () => {
  const scroll = new WheelEvent("wheel", { deltaY: 100, cancelable: true });
  document.getElementById("gantt").dispatchEvent(scroll);
  document.body.style.width = "400px";
  const rows = [...document.querySelectorAll("tr")].map((row) => row.offsetHeight);
  document.body.dataset.said = said.join("|");
  document.body.dataset.zooms = scroll.defaultPrevented;
  document.body.dataset.fits = document.body.scrollWidth <= 400;
  document.body.dataset.highest = Math.max(...rows);
});
</script>"""
"""Instead of the page's policy, which lets no script of ours ask."""


def asked(run, tmp_path):
    """What the page says of itself: the words in its chart, and how it is 400 px wide."""
    page = write(run, tmp_path / "r.html")
    page.write_text(POLICY.sub(ASK, page.read_text("utf-8")), "utf-8")
    dom, console = opened(page, tmp_path / "profile")
    assert console == []
    return dict(re.findall(r'data-(said|zooms|fits|highest)="([^"]*)"', dom))


@needs_a_browser
def test_the_axis_has_the_unit_in_which_so_long_a_run_is_told(tmp_path):
    """Ten thousand tasks of a second on one worker are 2.78 h; on twenty, 8.3 min, 500 s."""
    ticks = {"0.0 h", "0.5 h", "1.0 h", "1.5 h", "2.0 h", "2.5 h"}
    assert ticks <= set(asked(wide_run(10_000, 1), tmp_path)["said"].split("|"))
    assert "100 s" in asked(wide_run(10_000, 20), tmp_path)["said"].split("|")


@needs_a_browser
@pytest.mark.parametrize(("workers", "zooms"), [(2, "true"), (200, "false")])
def test_a_chart_that_fills_the_window_can_be_scrolled_past(tmp_path, workers, zooms):
    assert asked(wide_run(400, workers), tmp_path)["zooms"] == zooms


@needs_a_browser
def test_on_a_telephone_names_are_not_torn_into_letters(tmp_path):
    """The text around names of 40 letters has seven lines of 21 px then, and tables scroll."""
    run = two_worker_run(task="fetch_customer_transactions_by_region-17")
    found = asked(run, tmp_path)
    assert found["fits"] == "true"
    assert int(found["highest"]) < 200
