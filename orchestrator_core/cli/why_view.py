"""One task of a recorded run on the screen, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from orchestrator_core import words
from orchestrator_core.cli.console import clean, print_json, remark, results, toned
from orchestrator_core.cli.tables import Cell, Column, make_table
from orchestrator_core.report.gantt import short_kind
from orchestrator_core.report.why import Why
from orchestrator_core.report.why.answer import Planned
from orchestrator_core.report.why.binding import Binding
from orchestrator_core.report.why.cost import Cost
from orchestrator_core.report.why.options import Option, Options
from orchestrator_core.report.why.ran import Ran

MOST_ROWS = 12
"""Other workers that are shown; the rest is counted."""


def show(answer: Why) -> None:
    """The task, the reasons in lines, and the other workers as a table."""
    console = results()
    head = (clean(answer.task), "bold"), f"  {clean(short_kind(answer.kind))}"
    console.print(Text.assemble(*head, (f"  {_run(answer)}", "dim")), soft_wrap=True)
    console.print()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in _lines(answer):
        table.add_row(f"  {label}", text if isinstance(text, Text) else Text(clean(text)))
    console.print(table)
    options = answer.options
    if options is not None and options.options:
        rows = [_row(option, options.best) for option in options.options[:MOST_ROWS]]
        console.print()
        console.print(make_table(_columns(), rows, console.width))
        if len(options.options) > MOST_ROWS:
            console.print(Text(f"and {len(options.options) - MOST_ROWS} more workers", "dim"))
    if answer.unpriced:
        remark(f"note: other workers are left out: {answer.unpriced}")


def show_json(answer: Why) -> None:
    """The same for programs; seconds throughout."""
    options = answer.options
    runner_up = None if options is None else options.runner_up
    print_json(asdict(answer) | {"runner_up": None if runner_up is None else asdict(runner_up)})


def _run(answer: Why) -> str:
    return f"run {answer.run_id[:8]} of {clean(answer.flow)}"


def _lines(answer: Why) -> Iterator[tuple[str, str | Text]]:
    plan = answer.planned
    if plan is None:
        nowhere = "not in the plan" if answer.makespan is not None else "nowhere: Dask decided"
        yield "planned", f"{nowhere} ({answer.reason})" if answer.reason else nowhere
    else:
        followed = "" if answer.adopted else "; the plan was not followed"
        on = f"on {plan.worker} ({plan.kind}), {_span(plan.start, plan.end)}{followed}"
        yield "planned", on
        if plan.instances > 1:
            yield "", f"the last of its {plan.instances} instances"
        yield "why then", because(plan.binding, plan.start)
        yield "slack", _slack(plan)
    if answer.ran is None:
        yield "ran", "not at all"
    else:
        yield "ran", _ran(answer.ran, plan)
        if answer.ran.overhead is not None:
            yield "took", _took(answer.ran, answer.ran.overhead)
        yield "waited for", _waited(answer.ran, answer.task)
    if answer.options is not None:
        yield "runner-up", _runner_up(answer.options)


def _span(start: float, end: float) -> str:
    return f"{words.seconds(start)} to {words.seconds(end)}"


def because(binding: Binding, start: float) -> str:
    """Why a planned task starts when it does, as a sentence."""
    at, task = words.seconds(start), binding.task
    sentences = {
        "start": "it starts with the run",
        "release": f"it may not start before its release at {at}",
        "input": f"it needs the output of {task}, made on the same worker by {at}",
        "transfer": f"it needs the output of {task}, which comes from {binding.worker} by {at}",
        "worker": f"{task} keeps its worker busy until {at}",
        "sending": f"its worker is busy with sending the output of {task} until {at}",
        "resource": f"{task} has the {binding.name} of its worker until {at}",
        "submitted": f"it is submitted at {at}, as far as was known: the flow's code waits before",
        "memory": f"the plan waits until {at}, most likely for memory of its worker",
        "hold": f"the plan keeps it back until {at}: something else is to go first",
    }
    spare = start - binding.since
    ready = binding.because != "start" and spare > 1e-6 * max(1.0, start)
    since = f"; all else was ready {words.seconds(spare)} sooner" if ready else ""
    return sentences[binding.because] + since


def _slack(plan: Planned) -> Text:
    if plan.critical:
        return Text.assemble(("none", "bold"), ": on the critical path of the plan")
    return Text.assemble(
        (words.seconds(plan.slack), "bold"), ": it could start so much later at no cost"
    )


def _ran(ran: Ran, plan: Planned | None) -> Text:
    text = Text(clean(f"on {ran.worker} ({ran.kind}), {_span(ran.start, ran.end)}"))
    if plan is not None:
        late = ran.end - plan.end
        tone = "red" if late > 0.05 * max(plan.end - plan.start, 0.0) else "green"
        word = "late" if late >= 0 else "early"
        text.append(", ").append(f"{words.seconds(abs(late))} {word}", tone)
        if ran.worker != plan.worker:
            text.append(", not where it was planned", "yellow")
    if ran.attempt > 1 or ran.status != "ok":
        text.append(f", attempt {ran.attempt}: {clean(ran.status)}", "red")
    return text


def _took(ran: Ran, overhead: float) -> str:
    whole = words.seconds(ran.end - ran.start)
    return f"{whole}; {words.seconds(overhead)} of that around its code, by Prefect"


def _waited(ran: Ran, task: str) -> str:
    if ran.waited_for:
        text = f"{_cause(ran, task)}; began {words.seconds(ran.idle)} after that"
    else:
        text = f"nothing; began {words.seconds(ran.start)} after the start of the run"
    if ran.fetching > 0:
        text += f", of which {words.seconds(ran.fetching)} fetching inputs"
    return text + (", on the critical path of the run" if ran.critical else "")


def _cause(ran: Ran, task: str) -> str:
    if ran.because == "input":
        return f"the output of {ran.waited_for}"
    itself = "its attempt before" if ran.attempt > 1 else "an instance of it before"
    return f"{itself if ran.waited_for == task else ran.waited_for}, which had its worker"


def _runner_up(options: Options) -> Text:
    option = options.runner_up
    if option is None or option.cost is None:
        return Text("none: it can run nowhere else")
    cost, best = option.cost, words.seconds(options.best)
    text = Text.assemble((clean(option.worker), "bold"), ", which costs ")
    text.append(_plus(cost.seconds) if cost.seconds > 0 else "nothing", "bold")
    text.append(f": all planned anew around it, beside {best} at best")
    if cost.exact:
        return text.append("; exact: both are proven optimal")
    most = words.seconds(cost.most)
    return text.append(f"; proven to be between {words.seconds(cost.least)} and {most}")


def _columns() -> list[Column]:
    return [
        Column("elsewhere", elastic=True),
        Column("kind", spare=2),
        Column("alike", right=True, spare=3),
        Column("task there", right=True, spare=1),
        Column("only moved", right=True),
        Column("planned anew", right=True),
        Column("proven"),
    ]


def _row(option: Option, best: float) -> list[Cell]:
    return [
        option.worker,
        option.kind,
        f"+{option.alike}" if option.alike else "–",
        words.seconds(option.seconds),
        _plus(option.moved),
        toned(_plus(option.cost.seconds), "bold") if option.cost else "–",
        toned(_proof(option.cost), "dim"),
    ]


def _plus(seconds: float | None) -> str:
    if seconds is None:
        return "cannot be"
    sign = "+" if seconds > 0 else "−" if seconds < 0 else ""
    return f"{sign}{words.seconds(abs(seconds))}"


def _proof(cost: Cost | None) -> str:
    if cost is None:
        return "not looked at"
    return "exact" if cost.exact else f"{words.seconds(cost.least)} to {words.seconds(cost.most)}"
