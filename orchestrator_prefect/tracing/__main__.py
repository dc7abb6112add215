"""The process in which a flow is traced: a request on stdin, the answer on stdout, as JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from orchestrator_core.cli.python_module import load_module
from orchestrator_core.errors import OrchestratorError, UnknownFlow
from orchestrator_prefect.tracing.memory import limit_memory
from orchestrator_prefect.tracing.watch import Refused


def main() -> None:
    """Answers one request, and ends at once: no thread or exit hook of the flow's goes on."""
    answers = os.dup(1)
    # Whatever prints, prints to stderr from now on.
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    try:
        answer = _answer(request)
    except (OrchestratorError, Refused) as error:
        answer = {"refused": str(error), "no_flow": isinstance(error, UnknownFlow)}
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(answers, data) :]
    os._exit(0)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    from orchestrator_prefect.sending.flow_graph import flow_graph
    from orchestrator_prefect.sending.waited_for import bursts
    from orchestrator_prefect.tracing.trace import trace

    flow = _flow(request["source"], request["attribute"])
    limit_memory()
    # A call into compiled code that does not come back hears of nothing else.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 2 * request["seconds"])
    found = trace(flow, request["parameters"], seconds=request["seconds"])
    return {
        "flow": found.flow,
        "graph": flow_graph(found.submissions).to_json().decode(),
        "bursts": [(burst.size, burst.after) for burst in bursts(found.submissions, {})],
        "inline": found.inline,
        "spread": {
            name: each.spread / each.hint.seconds
            for name, each in found.estimates.items()
            if each.spread and each.hint.seconds
        },
    }


def _flow(source: str, attribute: str) -> Any:
    """The flow in the module, or the only one there; raises `UnknownFlow`."""
    from prefect.flows import Flow
    from prefect.tasks import Task

    from orchestrator_prefect.tracing.importing import nothing_runs

    with nothing_runs():
        module = load_module(source, "MODULE:FLOW or FILE.py:FLOW")
    flows = {n: each for n, each in vars(module).items() if isinstance(each, Flow)}
    if not attribute and len({id(each) for each in flows.values()}) == 1:
        return next(iter(flows.values()))
    if attribute not in flows:
        there = f"flows there: {', '.join(flows) or 'none'}"
        is_task = isinstance(vars(module).get(attribute), Task)
        which = f"{attribute or 'which one?'!r} is {'a task' if is_task else 'no Prefect flow'}"
        raise UnknownFlow(f"{which} in {source}; {there}")
    return flows[attribute]


if __name__ == "__main__":
    main()
