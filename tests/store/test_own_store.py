"""What tests remember is not remembered by whoever runs them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from orchestrator_core.store.location import default_url


def test_a_test_that_names_no_database_has_one_that_goes_with_it() -> None:
    database = Path(default_url().database or "")
    assert Path(tempfile.gettempdir()) in database.parents
    assert database.parent.parent == Path(os.environ["XDG_DATA_HOME"])
