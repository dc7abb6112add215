"""Names of tasks that stay the same from run to run, although Dask's keys do not.

What is learned about a single task is found again by its name. Dask's keys hold tokens: hashes of
the arguments, or plain chance. Without them ``('sum-3f...', 0, 1)`` is ``('sum', 0, 1)``, and where
two layers then read the same, what they read tells them apart. Tasks that even so look alike keep
their tokens: no name at all is better than the name of another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from zlib import crc32

from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.text import as_name

TOKEN = re.compile(
    r"[-_]?(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})"
)
"""What `dask.base.tokenize` or a UUID leaves in a key."""


def stable_names(keys: Sequence[Key], inputs: Sequence[Sequence[Key]]) -> tuple[str, ...]:
    """(n,) a name for each key, no two the same.

    Args:
        keys: (n,). inputs: (n,) the keys that each task reads; there is no cycle among them.
    """
    plain = [without_token(key) for key in keys]
    if len(set(plain)) == len(plain):
        return tuple(plain)
    often = Counter(plain)
    ancestry = _ancestry(keys, plain, inputs)
    apart = [
        name if often[name] == 1 else f"{name}@{hashed:08x}"
        for name, hashed in zip(plain, ancestry, strict=True)
    ]
    often = Counter(apart)
    return distinct(
        [
            name if often[name] == 1 else as_name(str(key))
            for name, key in zip(apart, keys, strict=True)
        ]
    )


def without_token(key: Key) -> str:
    """The key as text, its tokens left out; as it is if nothing else is in it."""
    text = as_name(str(key))
    return TOKEN.sub("", text) or text


def _ancestry(
    keys: Sequence[Key], plain: Sequence[str], inputs: Sequence[Sequence[Key]]
) -> list[int]:
    """(n,) a hash of the name and of all that the task reads, directly or not."""
    place = {key: i for i, key in enumerate(keys)}
    hashed: dict[Key, int] = {}
    for first in keys:
        stack = [first]
        while stack:
            key = stack[-1]
            at = place.get(key)
            if key in hashed or at is None:
                hashed.setdefault(key, crc32(without_token(key).encode(errors="replace")))
                stack.pop()
                continue
            missing = [source for source in inputs[at] if source not in hashed]
            if missing:
                stack.extend(missing)
                continue
            read = sorted(hashed[source] for source in inputs[at])
            hashed[key] = crc32(repr((plain[at], read)).encode())
            stack.pop()
    return [hashed[key] for key in keys]


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, all different: those of the keys ``1`` and ``"1"`` would be the same."""
    taken: dict[str, None] = {}
    for name in names:
        unique, number = name, 1
        while unique in taken:
            number += 1
            unique = f"{name}#{number}"
        taken[unique] = None
    return tuple(taken)
