"""What a worker's process keeps: the functions of JAX tasks, with all that is compiled of them."""

from __future__ import annotations

import hashlib
import os
import sys
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any

from orchestrator_prefect.jax_tasks.function import JaxFunction

MOST_FUNCTIONS = 128
"""Functions that are kept; of more, the longest unused goes."""

PREALLOCATE = "XLA_PYTHON_CLIENT_PREALLOCATE"
KEEP = "ORCHESTRATOR_JAX_PREALLOCATE"
"""Environment variable of a worker: ``1`` leaves JAX its own way with a GPU's memory."""

_functions: OrderedDict[bytes, JaxFunction] = OrderedDict()
_lock = Lock()


def function_of(pickled: bytes, options: Mapping[str, Any], name: str) -> JaxFunction:
    """The function that travelled so; always the same one for the same pickle and options."""
    key = hashlib.sha256(pickled + repr(sorted(options.items())).encode()).digest()
    with _lock:
        known = _functions.get(key)
    if known is None:
        known = _opened(pickled, options, name)
    with _lock:
        known = _functions.setdefault(key, known)
        _functions.move_to_end(key)
        while len(_functions) > MOST_FUNCTIONS:
            _functions.popitem(last=False)
    return known


def _opened(pickled: bytes, options: Mapping[str, Any], name: str) -> JaxFunction:
    import cloudpickle  # type: ignore[import-untyped]

    share_memory(os.environ)
    opened = JaxFunction(cloudpickle.loads(pickled), options)
    # What `jax.jit` gives forgets its name on the way.
    vars(opened)["__name__"] = name
    return opened


def share_memory(environment: Any) -> None:
    """Let JAX take a GPU's memory as it needs it, and not most of it at once, unless somebody has
    said otherwise; to be called before JAX looks for devices."""
    if environment.get(KEEP, "0") in ("", "0"):
        environment.setdefault(PREALLOCATE, "false")


def has_jax() -> bool:
    """Is JAX loaded here?"""
    return sys.modules.get("jax") is not None
