"""The example of a flow, on the server of this folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator_core import ScheduleStore
from tests.examples.running import run


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_digits_finds_a_good_model_and_its_run_is_remembered(
    prefect_server: None, tmp_path: Path
) -> None:
    from prefect.settings import PREFECT_API_URL

    database = str(tmp_path / "schedules.db")
    printed = run(
        "digits.py",
        folder=tmp_path,
        PREFECT_API_URL=str(PREFECT_API_URL.value()),
        ORCHESTRATOR_DB=database,
    )
    found = re.search(r"best: (.+), (\d+\.\d)% of the test images read right", printed)
    assert found is not None, printed
    assert float(found[2]) >= 97.0
    store = ScheduleStore(database)
    (summary,) = store.runs()
    store.close()
    assert (summary.flow, summary.mode, summary.tasks) == ("digits", "observed", 16)
