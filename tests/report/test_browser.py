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


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")
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
