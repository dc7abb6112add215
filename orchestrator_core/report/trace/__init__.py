"""A run as a trace for Chrome and Perfetto, in the Trace Event Format."""

from __future__ import annotations

from orchestrator_core.report.trace.file import FORMAT, trace_of, write_trace

__all__ = ["FORMAT", "trace_of", "write_trace"]
