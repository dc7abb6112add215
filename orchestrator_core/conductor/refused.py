"""What cannot be a kernel; who tries one, be it tiles, tells why and goes on without."""

from __future__ import annotations


class Refused(Exception):
    """Something cannot be made into a kernel; says why."""
