"""Tracing: the graph of a flow that never ran, by running its body, and only that, with stand-ins.

No task runs, no server is asked, and nothing is written: what cannot be followed so is refused, by
line. See `asked` for the way in, which needs no Prefect, and `trace` for what happens.
"""
