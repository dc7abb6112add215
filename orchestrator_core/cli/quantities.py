"""Sizes and times as people type them; settings are read in the same way."""

from __future__ import annotations

from orchestrator_core.settings.quantities import parse_bytes, parse_number, parse_seconds

__all__ = ["parse_bytes", "parse_number", "parse_seconds"]
