"""The example of a flow of JAX tasks, on the server of this folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator_core import ScheduleStore
from tests.examples.running import run


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_sweep_trains_and_says_what_was_conducted(prefect_server: None, tmp_path: Path) -> None:
    from prefect.settings import PREFECT_API_URL

    database = str(tmp_path / "schedules.db")
    printed = run(
        "jax_flow.py",
        *("--length", "512"),
        folder=tmp_path,
        PREFECT_API_URL=str(PREFECT_API_URL.value()),
        ORCHESTRATOR_DB=database,
    )
    assert re.search(r"^train\s+\(cpu; for time\)", printed, re.MULTILINE), printed
    losses = {size: float(loss) for size, loss in re.findall(r"size (\S+) +loss (\S+)", printed)}
    assert list(losses) == ["1.0", "10.0", "100.0"]
    best = re.search(r"^best: (\S+)$", printed, re.MULTILINE)
    assert best is not None
    assert losses[best[1]] == min(losses.values()) < 1.1

    store = ScheduleStore(database)
    (summary,) = store.runs()
    tasks = store.run(summary.run_id).tasks
    store.close()
    assert (summary.flow, len(tasks)) == ("sweep", 12)
    assert all(task.device_memory and task.setup_seconds > 0 for task in tasks)
