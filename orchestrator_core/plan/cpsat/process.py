"""Asking the solver in a process of its own, so that it can be ended at any moment.

A search that hangs, crashes, runs out of memory or cannot be interrupted costs its process, not
ours. The process is started by `subprocess`, without a fork of our threads and without importing
our ``__main__``, so this works from any thread and from inside a Dask scheduler. It is always
waited for: no zombie is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass

from orchestrator_core.plan.cpsat.wire import Answer, decode_answer


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back.

    Attributes:
        answer: the last one that could be read, or None.
        complete: the search ended by itself, and this is its last word.
        trouble: what went wrong, in words; empty if nothing did.
    """

    answer: Answer | None
    complete: bool
    trouble: str = ""


def command() -> list[str]:
    """The command that starts the solver's process."""
    return [sys.executable, "-P", "-m", "orchestrator_core.plan.cpsat.child"]


def ask(question: bytes, seconds: float) -> Outcome:
    """Send the question and take the answers that come within so many seconds."""
    try:
        process = subprocess.Popen(
            command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Outcome(None, False, f"the solver's process cannot be started: {error}")
    late = False
    try:
        output, errors = process.communicate(question, timeout=max(0.0, seconds))
    except subprocess.TimeoutExpired:
        late = True
        _kill(process)
        output, errors = process.communicate()
    except BaseException:
        _kill(process)
        process.communicate()
        raise
    answer = _last_answer(output)
    if late:
        return Outcome(answer, False, "the solver's process was ended at the deadline")
    if process.returncode != 0:
        return Outcome(answer, False, _crash(process.returncode, errors))
    if answer is None or not answer.status:
        return Outcome(answer, False, "the solver's process gave no last answer that can be read")
    return Outcome(answer, True)


def _environment() -> dict[str, str]:
    """Ours, with our import path, and no threads for linear algebra."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and whatever it may have started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _last_answer(output: bytes) -> Answer | None:
    answers = (decode_answer(line) for line in reversed(output.splitlines()))
    return next((answer for answer in answers if answer is not None), None)


def _crash(code: int, errors: bytes) -> str:
    how = f"signal {-code}" if code < 0 else f"exit status {code}"
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return f"the solver's process failed ({how}){': ' + lines[-1][:200] if lines else ''}"
