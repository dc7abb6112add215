"""What is begun early gives what it would have given, or raises it."""

from __future__ import annotations

from threading import Event, get_ident

import pytest

from orchestrator_prefect.sending.early import Early


def test_it_runs_before_it_is_asked_for_and_elsewhere() -> None:
    begun = Event()

    def call() -> int:
        begun.set()
        return get_ident()

    early = Early(call)
    assert begun.wait(60)
    assert early.result() not in (None, get_ident())
    assert early.result() == early.result(), "once"


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_what_it_raises_is_raised_where_it_is_asked_for(kind: type[BaseException]) -> None:
    def call() -> int:
        raise kind("no")

    early = Early(call)
    with pytest.raises(kind, match="no"):
        early.result()
