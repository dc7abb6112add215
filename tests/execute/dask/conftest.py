"""What the tests of a file leave behind, others would see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator_core.execute.dask.watch.metrics import METRICS


@pytest.fixture(autouse=True, scope="module")
def no_session_is_left() -> Iterator[None]:
    """A plugin that stays after its scheduler is a fault of the test, or of ours.

    Clusters that tests of other folders share live on in this process; their sessions are not
    counted here.
    """
    others = METRICS._sessions
    for each in others:
        METRICS.remove(each)
    yield
    assert METRICS._sessions == ()
    for each in others:
        METRICS.add(each)
