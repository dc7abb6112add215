"""Is a Dask scheduler exposed? Whoever reaches one that is not encrypted can run any code there."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from orchestrator_core.cli.health.check import Check, bad, good
from orchestrator_core.cli.health.probe import ProbeFailed, probe

NAME = "Dask's links"
_CONFIG = """
import json
import dask, distributed
get = lambda key: dask.config.get(key, None)
print(json.dumps({
    "address": get("scheduler-address"),
    "encrypted": bool(get("distributed.comm.require-encryption")),
}))
"""


def check_dask_links() -> Check:
    """By Dask's configuration, read in a fresh interpreter."""
    try:
        config = probe(_CONFIG)
    except ProbeFailed as failure:
        return bad(
            NAME, f"Dask does not import: {failure}", "type: pip install --upgrade distributed"
        )
    return judge(config["address"], config["encrypted"])


def judge(address: str | None, encrypted: bool) -> Check:
    """What the two settings mean together."""
    if encrypted:
        return good(NAME, "are encrypted (distributed.comm.require-encryption)")
    if not address:
        return good(NAME, "are not encrypted, and no scheduler is configured: fine on one machine")
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme in ("tls", "wss", "inproc") or _is_here(parts.hostname):
        return good(NAME, f"lead to {address}")
    return bad(
        NAME,
        f"lead to {address} without encryption: whoever reaches it can run any code there",
        "set distributed.comm.require-encryption and distributed.comm.tls, and use tls://; "
        "see https://distributed.dask.org/en/stable/tls.html",
    )


def _is_here(host: str | None) -> bool:
    """Does the host name this machine only?"""
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
