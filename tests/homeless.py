"""A user without a home, as in a container that runs under a number that nobody knows."""

from __future__ import annotations

import pwd

import pytest

NAMES = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "ORCHESTRATOR_DB")


def leave_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nobody knows where home is, and nothing else names a folder."""

    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
