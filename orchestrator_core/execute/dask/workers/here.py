"""Here: are all workers of a cluster on this machine?"""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit


def are_here(client: Any) -> bool:
    """Do all workers of the `distributed.Client`'s cluster have an address of this machine? No, if
    there is none yet."""
    from distributed.utils import get_ip

    own = {"127.0.0.1", "::1", "localhost", socket.gethostname(), get_ip()}  # type: ignore[no-untyped-call]
    workers = client.scheduler_info(n_workers=-1)["workers"]
    hosts = {urlsplit(address).hostname for address in workers}
    return bool(hosts) and hosts <= own
