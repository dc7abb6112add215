"""What Prefect makes anew for each task in a worker, made once: settings, and trusted certificates.

Nine tenths of what it takes to begin and end a task run go into this: all settings are validated
one by one, reading the environment, profiles and files for each group of them, and all trusted
certificates are read twice. Here, settings are the same object as long as the flow sends the same,
and the worker's environment and folder are the same; and certificates are read again when their
file is another one than before.

Shipped by value, as all of `worker_side` is: functions inside functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KEPT = 8
"""Different settings that a worker remembers."""


def remember_settings() -> Callable[[], None]:
    """For a worker that has imported Prefect: equal `SettingsContext`s share their settings."""
    most = KEPT

    def remember() -> None:
        import os
        import pickle
        import threading

        from prefect.context import SettingsContext
        from prefect.settings import Settings

        make: Any = SettingsContext.__init__
        if hasattr(make, "known"):
            return
        known: dict[Any, Settings] = {}
        one_at_a_time = threading.Lock()

        def made(self: SettingsContext, **sent: Any) -> None:
            if isinstance(sent.get("settings"), dict):
                own = sorted(pair for pair in os.environ.items() if pair[0].startswith("PREFECT_"))
                key = (pickle.dumps(sent["settings"]), tuple(own), os.getcwd())
                with one_at_a_time:
                    if key not in known:
                        if len(known) >= most:
                            known.clear()
                        known[key] = Settings(**sent["settings"])
                    sent["settings"] = known[key]
            make(self, **sent)

        made.known = known  # type: ignore[attr-defined]
        SettingsContext.__init__ = made  # type: ignore[method-assign]

    return remember


def remember_certificates() -> Callable[[], None]:
    """For a worker that has imported Prefect: its clients read the same certificates once."""

    def remember() -> None:
        import os
        import ssl
        import threading
        import types
        from importlib import import_module

        client: Any = import_module("prefect.client.orchestration")
        if hasattr(client.ssl, "known"):
            return
        known: dict[Any, ssl.SSLContext] = {}
        one_at_a_time = threading.Lock()

        def create_default_context(*args: Any, cafile: Any = None, **kwargs: Any) -> Any:
            # Without a file it is made to be changed: Prefect lets it trust everybody.
            if args or kwargs or cafile is None:
                return ssl.create_default_context(*args, cafile=cafile, **kwargs)
            found = os.stat(cafile)
            key = (str(cafile), found.st_mtime_ns, found.st_size)
            with one_at_a_time:
                if key not in known:
                    known.clear()
                    known[key] = ssl.create_default_context(cafile=cafile)
                return known[key]

        changed: Any = types.ModuleType("ssl")
        changed.__dict__.update(ssl.__dict__)
        changed.create_default_context = create_default_context
        changed.known = known
        client.ssl = changed

    return remember
