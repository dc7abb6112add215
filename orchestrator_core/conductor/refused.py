"""What cannot be a kernel."""

from __future__ import annotations


class Refused(Exception):
    """Something cannot be made into a kernel; says why."""
