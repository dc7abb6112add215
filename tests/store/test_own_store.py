"""What tests remember is not remembered by whoever runs them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from orchestrator_core.errors import StoreError
from orchestrator_core.store.location import default_url
from tests.homeless import leave_home


def test_a_test_that_names_no_database_has_one_that_goes_with_it() -> None:
    database = Path(default_url().database or "")
    assert Path(tempfile.gettempdir()) in database.parents
    assert database.parent.parent == Path(os.environ["XDG_DATA_HOME"])


@pytest.mark.parametrize("named", ["", "~/runs.db"])
def test_who_has_no_home_is_told_how_to_name_a_database(
    monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    leave_home(monkeypatch)
    if named:
        monkeypatch.setenv("ORCHESTRATOR_DB", named)
    with pytest.raises(StoreError, match="set HOME, or ORCHESTRATOR_DB"):
        default_url()
    monkeypatch.setenv("ORCHESTRATOR_DB", "/data/runs.db")
    assert default_url().database == "/data/runs.db"
