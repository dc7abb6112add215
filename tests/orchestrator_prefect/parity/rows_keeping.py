"""What is kept: caches, persisted results, transactions, limits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from prefect import task
from prefect.cache_policies import INPUTS, NO_CACHE, TASK_SOURCE
from prefect.concurrency.sync import concurrency
from prefect.context import FlowRunContext
from prefect.transactions import Transaction, transaction

from . import notes
from .row import Row
from .tasks import add


def by_flow_run(context: Any, parameters: dict[str, Any]) -> str:
    return f"parity-{context.task_run.flow_run_id}-{parameters['x']}"


@task(cache_policy=INPUTS + TASK_SOURCE, persist_result=True)
def by_inputs(x: int, run: str) -> int:
    notes.note(f"computed {x}")
    return x


@task(cache_key_fn=by_flow_run, cache_expiration=timedelta(days=1), persist_result=True)
def by_key(x: int) -> int:
    notes.note(f"computed {x}")
    return x


@task(cache_policy=NO_CACHE)
def not_kept(x: int) -> int:
    notes.note(f"computed {x}")
    return x


@task(persist_result=True, result_storage_key="parity-{flow_run.id}-{parameters[x]}.json")
def under_a_name(x: int) -> list[int]:
    return [x, x]


@task
def first_step(x: int) -> int:
    notes.note("first step")
    return x


@first_step.on_rollback
def undo_first(txn: Transaction) -> None:
    notes.note("first step undone")


@first_step.on_commit
def keep_first(txn: Transaction) -> None:
    notes.note("first step kept")


@task
def breaks() -> None:
    raise RuntimeError("half way")


def run_id() -> str:
    context = FlowRunContext.get()
    assert context is not None
    return str(context.flow_run.id)


def cached_by_inputs() -> list[Any]:
    first = by_inputs.submit(1, run_id())
    first.wait()
    second, other = by_inputs.submit(1, run_id()), by_inputs.submit(2, run_id())
    second.wait()
    fresh = by_inputs.with_options(refresh_cache=True).submit(1, run_id())
    fresh.wait()
    return [str(each.state.name) for each in (first, second, fresh)] + [other.result()]


def cached_by_key() -> list[Any]:
    values = [by_key.submit(1).result() for _ in range(2)]
    return [*values, not_kept.submit(1).result(), not_kept.submit(1).result()]


def results_under_names() -> list[Any]:
    return [under_a_name.submit(3).result(), add.submit(1).result()]


def transaction_that_ends_well() -> int:
    with transaction():
        return first_step(1) + add(1)


def transaction_that_is_rolled_back() -> str:
    try:
        with transaction():
            first_step(1)
            breaks()
    except RuntimeError as error:
        return str(error)
    return "nothing went wrong"


def submitted_in_a_transaction() -> str:
    with transaction():
        first_step.submit(1).wait()
        state = breaks.submit(return_state=True)
    return str(state.name)


@task
def is_limited(x: int) -> int:
    with concurrency("parity-limit", occupy=1, timeout_seconds=20):
        return x


@task(tags=["parity-tag-limit"])
def has_a_limited_tag(x: int) -> int:
    return x


def limited() -> list[int]:
    return is_limited.map([1, 2, 3]).result() + has_a_limited_tag.map([4, 5]).result()


ROWS = [
    Row(cached_by_inputs),
    Row(cached_by_key, slow=True),
    Row(results_under_names, {"persist_result": True}),
    Row(transaction_that_ends_well, slow=True),
    Row(transaction_that_is_rolled_back),
    Row(submitted_in_a_transaction, slow=True),
    Row(limited, slow=True),
]
