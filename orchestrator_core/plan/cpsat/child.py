"""The solver's process: a question on standard input, answers as lines on standard output.

Run as ``python -m orchestrator_core.plan.cpsat.child``; `process.py` starts and ends it. It answers
whenever it knows more, so that whoever ends it loses nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
import types

_MOST_MEMORY = 6 * 2**30
"""Bytes of address space that this process may take; beyond it, it fails instead of its machine."""

_GRACE = 5.0
"""Seconds past the deadline after which it ends itself, should nobody else do it."""


def main() -> None:
    parent = os.getppid()
    _spare_the_machine()
    question = sys.stdin.buffer.read()
    _import_without_pandas()
    from orchestrator_core.plan.cpsat.solve import solve
    from orchestrator_core.plan.cpsat.wire import Answer, decode_question, encode_answer

    instance, incumbent, lower_bound, limits = decode_question(question)
    threading.Thread(target=_end_with, args=(parent, limits.until), daemon=True).start()

    def tell(answer: Answer) -> None:
        sys.stdout.buffer.write(encode_answer(answer))
        sys.stdout.buffer.flush()

    tell(solve(instance, incumbent, lower_bound, limits, tell))
    # Nothing is left to tidy up, and the solver's own threads may take their time.
    os._exit(0)


def _spare_the_machine() -> None:
    """If memory runs out, this process is the one to fail."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, hard))


def _import_without_pandas() -> None:
    """Import CP-SAT with a stand-in for pandas, which it needs for its series only; pandas would
    take three quarters of this process's start. Should that fail, import it as it is."""
    if "pandas" in sys.modules:
        return
    sys.modules["pandas"] = _Pandas("pandas")
    try:
        importlib.import_module("ortools.sat.python.cp_model")
    except Exception:
        for name in [m for m in sys.modules if m.partition(".")[0] == "ortools"]:
            del sys.modules[name]
    finally:
        del sys.modules["pandas"]


class _Pandas(types.ModuleType):
    """Has any class, and none of them has an instance."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def _end_with(parent: int, until: float) -> None:
    """End this process when its parent is gone, or when nobody ends it long after the deadline."""
    while os.getppid() == parent and time.time() < until + _GRACE:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main()
