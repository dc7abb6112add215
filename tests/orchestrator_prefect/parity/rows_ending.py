"""How flows and tasks end: failures, retries, timeouts, hooks, states."""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.runtime import task_run
from prefect.states import Cancelled, Completed, Failed

from . import gate, notes
from .row import Row
from .tasks import add, fails


def noted(kind: str) -> Any:
    """A hook that writes down that it was called."""

    def hook(subject: Any, run: Any, state: Any) -> None:
        notes.note(f"{kind} of {subject.name}: {state.name}", getattr(run, "flow_run_id", run.id))

    return hook


HOOKS: dict[str, Any] = {f"on_{each}": [noted(each)] for each in ("completion", "failure")}
FLOW_HOOKS = {**HOOKS, "on_running": [noted("running")], "on_cancellation": [noted("cancelled")]}


@task(retries=2, retry_delay_seconds=0.02, retry_jitter_factor=0.5, **HOOKS)
def works_the_third_time() -> int:
    notes.note("tried")
    if task_run.run_count < 3:
        raise RuntimeError("not yet")
    return int(task_run.run_count)


@task(retries=3, retry_delay_seconds=[0.01, 0.02], retry_condition_fn=lambda t, r, s: False)
def is_not_tried_again() -> None:
    notes.note("tried")
    raise RuntimeError("never")


@task(**HOOKS)
def with_hooks(good: bool) -> int:
    if not good:
        raise ValueError("with hooks")
    return 1


@task(timeout_seconds=0.05)
def takes_too_long() -> None:
    gate.wait(0.5)


@task(timeout_seconds=0.05)
async def takes_too_long_later() -> None:
    import asyncio

    await asyncio.sleep(5.0)


@task
def gives_a_state(name: str) -> Any:
    return {"failed": Failed, "cancelled": Cancelled, "done": Completed}[name](message=name)


def retries_with_delay_and_jitter() -> int:
    return works_the_third_time.submit().result()


def retries_under_a_condition() -> str:
    return str(is_not_tried_again.submit(return_state=True).name)


def flow_that_is_tried_again() -> int:
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    assert context is not None
    value = add.submit(1).result()
    if context.flow_run.run_count < 2:
        raise RuntimeError("the first try")
    return value


def tasks_that_time_out() -> list[str]:
    gate.close()
    late = [takes_too_long.submit(), takes_too_long_later.submit()]
    for each in late:
        each.wait()
    return [str(each.state.name) for each in late]


def flow_that_times_out() -> int:
    gate.close()
    value = add.submit(1).result()
    for _ in range(1000):
        gate.wait(0.01)
    return value


def hooks_of_good_tasks() -> int:
    return with_hooks.submit(True).result()


def hooks_of_bad_tasks() -> int:
    return with_hooks.submit(False).result()


def states_instead_of_values() -> list[Any]:
    asked = [with_hooks.submit(good, return_state=True) for good in (True, False)]
    direct = [with_hooks(good, return_state=True) for good in (True, False)]
    return [str(state.name) for state in (*asked, *direct)]


def tasks_that_give_states() -> list[str]:
    states = [gives_a_state.submit(each, return_state=True) for each in ("done", "failed")]
    cancelled = gives_a_state.submit("cancelled")
    after = add.submit(cancelled)
    after.wait()
    cancelled.wait()
    return [str(each.name) for each in (*states, cancelled.state, after.state)]


def fails_after_submitting() -> None:
    add.submit(1).wait()
    raise KeyError("from the body")


def fails_with_a_task() -> None:
    add.submit(fails.submit("from a task").result())


def gives_a_failed_state() -> Any:
    add.submit(1).wait()
    return Failed(message="as I say")


def gives_states_of_tasks() -> Any:
    return [add.submit(1, return_state=True), fails.submit(return_state=True)]


def takes_numbers(count: int) -> int:
    return add.submit(count).result()


def raises_at_its_caller() -> None:
    fails.submit("for the caller").result()


ROWS = [
    Row(retries_with_delay_and_jitter),
    Row(retries_under_a_condition, slow=True),
    Row(flow_that_is_tried_again, {"retries": 1, "retry_delay_seconds": 0.01}),
    Row(tasks_that_time_out),
    Row(flow_that_times_out, {"timeout_seconds": 1.5}),
    Row(hooks_of_good_tasks, FLOW_HOOKS, slow=True),
    Row(hooks_of_bad_tasks, FLOW_HOOKS),
    Row(states_instead_of_values, slow=True),
    Row(tasks_that_give_states),
    Row(fails_after_submitting, FLOW_HOOKS),
    Row(fails_with_a_task, slow=True),
    Row(gives_a_failed_state, FLOW_HOOKS),
    Row(gives_states_of_tasks, slow=True),
    Row(takes_numbers, arguments=(4,)),
    Row(takes_numbers, {"name": "bad parameters"}, arguments=("four",)),
    Row(raises_at_its_caller, raises=True, slow=True),
]
