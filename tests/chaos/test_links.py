"""Slow, stalling and breaking links between workers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.ledger import Ledger
from tests.chaos.link import Quality
from tests.chaos.play import MODES
from tests.chaos.stories import computed

pytestmark = pytest.mark.chaos

QUALITIES = {
    "far": Quality(delay=0.02, jitter=0.01),
    "lossy": Quality(delay=0.002, stall=0.05),
    "breaking": Quality(delay=0.001, breaks=0.01),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("link", QUALITIES)
def test_bad_links(ledger: Ledger, link: str, mode: str) -> None:
    ledger.judge(f"links: {link}", computed, mode, link=QUALITIES[link])


NETWORK = "ip link set lo up && tc qdisc add dev lo root netem delay 5ms 2ms loss 1%"


def has_network_of_its_own() -> bool:
    """May a process here have a network of its own, with losses?"""
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "--net", "--", "sh", "-c", NETWORK]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.timeout(300)
def test_real_losses_on_every_link() -> None:
    """The kernel itself delays and loses packets, also those of the scheduler."""
    if not has_network_of_its_own():
        pytest.skip("no network namespaces here")
    here = str(Path(__file__).with_name("test_killed.py"))
    inner = f'{sys.executable} -m pytest {here} -m chaos -q -k "nothing or busiest" --slack 20'
    command = ["unshare", "--net", "--", "sh", "-c", f"{NETWORK} && exec {inner}"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
