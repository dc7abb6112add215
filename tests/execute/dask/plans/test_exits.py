"""An advisor that exits ends its own thread, and nothing else."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, cast

import pytest

from orchestrator_core.errors import PlanningFailed
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.plans.advisory import _answer
from tests.execute.dask.advisors import FixedAdvisor


def test_an_exit_is_an_answer_that_failed() -> None:
    answer: Future[Advice] = Future()

    def leave(advisor: Any) -> Advice:
        raise SystemExit(3)

    _answer(answer, leave, cast(Any, FixedAdvisor()))
    with pytest.raises(PlanningFailed, match=r"the advisor gave up: SystemExit\(3\)"):
        answer.result(0)
