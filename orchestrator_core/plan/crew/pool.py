"""The helpers of this process, kept between plans."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading

from orchestrator_core.plan.crew.helper import Helper

SPARE = 1
"""Helpers that are kept alive when nobody needs them."""

_lock = threading.Lock()
_kept: list[Helper] = []


def borrow() -> Helper | None:
    """A helper for one question: a kept one, else a new one; None if the system refuses one."""
    with _lock:
        while _kept:
            helper = _kept.pop()
            if helper.usable:
                return helper
            helper.end()
    with contextlib.suppress(OSError):
        return Helper()
    return None


def ready() -> bool:
    """Is there a helper that need not be started first?"""
    with _lock:
        return any(helper.usable for helper in _kept)


def give_back(helper: Helper) -> None:
    """Keep it for the next plan, or end it if enough are kept."""
    with _lock:
        if len(_kept) < SPARE:
            _kept.append(helper)
            return
    helper.end()


def start() -> None:
    """Start a helper ahead of time, if none is kept."""
    if not ready():
        helper = borrow()
        if helper is not None:
            give_back(helper)


def end_all() -> None:
    """End the kept helpers; the next plan starts a new one."""
    with _lock:
        while _kept:
            _kept.pop().end()


def _forget() -> None:
    """After a fork: the helpers are the parent's."""
    global _lock
    _lock = threading.Lock()
    _kept.clear()


atexit.register(end_all)
os.register_at_fork(after_in_child=_forget)
