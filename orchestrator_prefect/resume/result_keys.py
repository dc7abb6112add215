"""Under which key Prefect keeps the result of a task, known before the task runs.

Prefect computes the key on the worker, from the task's cache policy. Here the same policies are
asked, as far as they are Prefect's own and depend on nothing but the task, its arguments and the
flow run; what a user's function says of a key is not asked twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from prefect.cache_policies import (
    CachePolicy,
    CompoundCachePolicy,
    FlowParameters,
    Inputs,
    RunId,
    TaskSource,
)
from prefect.utilities.collections import visit_collection

FORESEEABLE = (FlowParameters, Inputs, RunId, TaskSource)


def result_key(task: Any, arguments: Mapping[str, Any], flow_run: Any) -> str | None:
    """The key of the result of this task in this flow run; None if it cannot be foreseen.

    Args:
        arguments: by parameter, without anything that is still to be computed.

    Raises:
        Exception: whatever a policy raises, such as for arguments that cannot be hashed.
    """
    if not _is_foreseeable(task.cache_policy) or task.refresh_cache:
        return None
    about = SimpleNamespace(
        task=task, task_run=SimpleNamespace(id=None, flow_run_id=getattr(flow_run, "id", None))
    )
    found: str | None = task.cache_policy.compute_key(
        task_ctx=about,
        inputs={name: _bare(value) for name, value in arguments.items()},
        flow_parameters=getattr(flow_run, "parameters", None) or {},
    )
    return found


def _is_foreseeable(policy: object) -> bool:
    if isinstance(policy, CompoundCachePolicy):
        return all(map(_is_foreseeable, policy.policies))
    return isinstance(policy, CachePolicy) and type(policy) in FORESEEABLE


def _bare(value: Any) -> Any:
    """The value as the task gets it, out of Prefect's annotations."""
    return visit_collection(
        value, visit_fn=lambda each: each, return_data=True, remove_annotations=True
    )
