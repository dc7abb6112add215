"""Names from other people's flows as text for screens, pages and logs."""

from __future__ import annotations

_BIDIRECTIONAL = frozenset(
    map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)
"""Characters that turn the direction of the text around them."""

_SPACES = str.maketrans("\n\t\u2028\u2029", "    ")


def clean(text: str) -> str:
    """The text on one line, without what steers a terminal, turns the direction of writing, or
    cannot be encoded."""
    if text.isprintable() and not _BIDIRECTIONAL.intersection(text):
        return text
    plain = "".join(c for c in text.translate(_SPACES) if not _steers(c))
    return plain.encode("utf-8", "replace").decode()


def _steers(character: str) -> bool:
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0 or character in _BIDIRECTIONAL
