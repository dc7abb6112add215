"""Kept programs: what one worker's process compiles, the next one on the machine loads.

By JAX's own cache on disk, which goes by the whole program, the versions and the flags. Processes
that come and go with each run would compile the same again: a training step of twelve layers takes
a quarter of a minute.
"""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path
from typing import Any

import jax

from orchestrator_core.conductor.cost import device_store
from orchestrator_core.conductor.cost.processor import digest, processor
from orchestrator_core.conductor.planning.folder import make_room

MOST_BYTES = 4 * 2**30
"""Of all programs that are kept; of more, the oldest go until half of it is left."""


@functools.cache
def keep() -> None:
    """Let JAX keep what takes it a second or more to compile, in this process from now on.

    Whoever has told JAX where (``JAX_COMPILATION_CACHE_DIR``) is listened to, and so is who wants
    nothing kept (``JAX_ENABLE_COMPILATION_CACHE=0``). Where nothing can be written, nothing is.
    """
    config: Any = jax.config
    if config.jax_compilation_cache_dir or not config.jax_enable_compilation_cache:
        return
    with contextlib.suppress(OSError, RuntimeError):  # nobody's home
        place = folder()
        # Whoever may write there may have his own code run here.
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_room(place, MOST_BYTES)
        if os.access(place, os.W_OK):
            config.update("jax_compilation_cache_dir", str(place))


def folder() -> Path:
    """Where programs for a processor like this one are kept: others, which may share the home,
    lack some of its instructions."""
    return device_store.folder() / "programs" / digest(processor())
