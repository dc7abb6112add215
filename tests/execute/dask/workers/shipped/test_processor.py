"""The processor has a short name, and a speed that other work on the machine does not change."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator_core.execute.dask.workers.shipped.processor import (
    processor,
    round_seconds,
    shortened,
)


@pytest.mark.parametrize(
    ("model", "short"),
    [
        ("AMD EPYC 7763 64-Core Processor", "epyc-7763"),
        ("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "xeon-platinum-8481c"),
        ("Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz", "core-i7-8650u"),
        ("AMD Ryzen 7 5800H with Radeon Graphics", "ryzen-7-5800h"),
        ("Apple M2 Pro", "m2-pro"),
        ("Neoverse-N1", "neoverse-n1"),
        ("\u65e5\u672c\n", ""),
        ("", ""),
        ("x" * 100, "x" * 32),
    ],
)
def test_a_model_in_short(model: str, short: str) -> None:
    assert shortened(model) == short
    assert shortened(short) == short, "what is short stays"


def test_the_model_is_read_from_linux(tmp_path: Path) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text(
        "processor\t: 0\nmodel name\t: AMD EPYC 7763 64-Core Processor\nmodel name: x\n"
    )
    assert processor(str(told)) == "epyc-7763"


def test_where_linux_says_nothing_python_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.processor", lambda: "arm")
    (tmp_path / "cpuinfo").write_text("BogoMIPS: 3\n")
    assert processor(str(tmp_path / "cpuinfo")) == "arm"
    assert processor(str(tmp_path / "none")) == "arm"


def test_the_least_disturbed_round_counts_in_time_of_its_own_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = iter([0.0, 5.0, 5.0, 7.0, 7.0, 16.0])
    monkeypatch.setattr("time.thread_time", lambda: next(ticks))
    assert round_seconds(rounds=3) == 2.0


def test_a_round_is_short_but_not_nothing() -> None:
    assert 1e-5 < round_seconds(rounds=3) < 1.0
