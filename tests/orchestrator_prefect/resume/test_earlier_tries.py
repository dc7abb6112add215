"""Which results are found again, by what the server knows of earlier tries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import task
from prefect.cache_policies import INPUTS, NO_CACHE, RUN_ID, TASK_SOURCE
from prefect.client.schemas.objects import FlowRun, TaskRun, TaskRunResult
from prefect.results import ResultRecordMetadata
from prefect.serializers import PickleSerializer
from prefect.states import Completed

from orchestrator_prefect.resume.earlier_tries import from_task_runs
from orchestrator_prefect.resume.result_keys import result_key


def run(
    key: str | None, *, task_key: str = "f", ends: datetime | None = None, **inputs: list[UUID]
) -> TaskRun:
    data = key and ResultRecordMetadata(
        storage_key=key, expiration=ends, serializer=PickleSerializer()
    )
    given: dict[str, Any] = {
        name: [TaskRunResult(id=each) for each in ids] for name, ids in inputs.items()
    }
    return TaskRun(
        task_key=task_key, dynamic_key="0", state=Completed(data=data or None), task_inputs=given
    )


def test_results_are_known_by_the_last_part_of_their_path() -> None:
    found = from_task_runs([run("/home/of/results/one"), run("two"), run(None)])
    assert found.keys == {"one", "two"}


def test_an_expired_result_is_none() -> None:
    now = datetime.now(UTC)
    soon, before = now + timedelta(hours=1), now - timedelta(seconds=1)
    assert from_task_runs([run("new", ends=soon), run("old", ends=before)]).keys == {"new"}


def test_who_took_a_result_is_known_by_it_whichever_try_made_it() -> None:
    first, second = run("made"), run("made")
    takers = [run(key, task_key="g", x=[each.id]) for key, each in (("a", first), ("b", second))]
    lost = run("c", task_key="g", x=[uuid4()])
    found = from_task_runs([first, second, *takers, lost])
    assert found.taking["g", frozenset({("x", frozenset({"made"}))})] == ["a", "b"]
    assert found.taking["g", frozenset({("x", frozenset({None}))})] == ["c"]


@task
def plain(x: int) -> int:
    return x


FLOW_RUN = FlowRun(flow_id=uuid4(), parameters={"a": 1})


@pytest.mark.parametrize(
    "policy", [INPUTS, TASK_SOURCE, RUN_ID, INPUTS + TASK_SOURCE + RUN_ID], ids=str
)
def test_keys_of_prefects_own_policies_are_foreseen(policy: Any) -> None:
    again = plain.with_options(cache_policy=policy)
    key = result_key(again, {"x": 1}, FLOW_RUN)
    assert key
    assert key == result_key(again, {"x": 1}, FLOW_RUN)
    other = result_key(again, {"x": 2}, FLOW_RUN)
    assert (key != other) == ("Inputs" in str(policy))


def test_other_keys_are_not_foreseen() -> None:
    def asked(context: Any, arguments: Any) -> str:
        raise AssertionError("what a user's function says is not asked twice")

    for options in (
        {"cache_policy": NO_CACHE},
        {"cache_key_fn": asked},
        {"cache_policy": INPUTS, "refresh_cache": True},
    ):
        assert result_key(plain.with_options(**options), {"x": 1}, FLOW_RUN) is None
