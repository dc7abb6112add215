"""Text that a screen, a file and a database can hold: for names, kinds and resources."""

from __future__ import annotations

from zlib import crc32

MAX_NAME = 1_000
"""Longest name, in characters."""

LARGEST = 10**308
"""From here on a whole number is too long for a message, or even for `repr`."""

ALLOWED = f"1 to {MAX_NAME} characters, and no control characters or lone surrogates"


def is_name(text: str) -> bool:
    """Has it 1 to `MAX_NAME` characters, none of them a control character or a lone surrogate?"""
    return 0 < len(text) <= MAX_NAME and _printable(text)


def as_name(text: str) -> str:
    """A name that reads like the text; the text itself if it may be one.

    What is too long is cut, and told apart from others by a checksum.
    """
    if is_name(text):
        return text
    plain = ascii(text)[1:-1] or "''"
    if len(plain) <= MAX_NAME:
        return plain
    return f"{plain[: MAX_NAME - 9]}~{crc32(plain.encode()):08x}"


def _printable(text: str) -> bool:
    if text.isascii():
        return text.isprintable()
    return not any(ch < " " or "\x7f" <= ch <= "\x9f" or "\ud800" <= ch <= "\udfff" for ch in text)


def shown(text: object) -> str:
    """The text as a message shows it: shortened, and with nothing that cannot be printed."""
    if isinstance(text, int) and abs(text) >= LARGEST:
        return "a whole number of more than 308 digits"
    return ascii(text[:60] if isinstance(text, str) else text)
