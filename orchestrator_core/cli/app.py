"""The commands together, and what happens when one of them fails.

Exit codes: 0 done, 1 could not be done, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import orchestrator_core
from orchestrator_core.cli.config import config
from orchestrator_core.cli.db import app as db
from orchestrator_core.cli.diff import diff
from orchestrator_core.cli.doctor import doctor
from orchestrator_core.cli.explain import explain
from orchestrator_core.cli.live.app import app as live
from orchestrator_core.cli.plan import plan
from orchestrator_core.cli.report import report
from orchestrator_core.cli.runs import runs
from orchestrator_core.cli.schedules import schedules
from orchestrator_core.cli.trace import trace
from orchestrator_core.cli.whatif import whatif
from orchestrator_core.cli.why import why
from orchestrator_core.errors import OrchestratorError

INTERRUPTED = 130
ISSUES = "if it comes again, report it with what `--debug` shows"

app = typer.Typer(
    help="Plans who runs which task when, with a proven bound; shows what was planned and done.",
    no_args_is_help=True,
    add_completion=False,
    # Help drawn by rich takes three times as long to load as all else here.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (plan, runs, report, why, whatif, diff, trace, schedules, explain, config, doctor):
    app.command()(command)
app.add_typer(db, name="db")
app.add_typer(live, name="live")


def run(arguments: Sequence[str], name: str = "orchestrator", live_first: bool = False) -> int:
    """Run one command line; returns its exit code.

    With `live_first`, the commands of `live` stand beside the others.
    """
    words = [word for word in arguments if word != "--debug"]
    debug = len(words) < len(arguments)
    _never_fail_to_print()
    try:
        _command(live_first).main(words, prog_name=name)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except OrchestratorError as error:
        if debug:
            raise
        return _fail(str(error))
    except OSError as error:
        if debug:
            raise
        return _fail(_about_file(error))
    except Exception as error:
        if debug:
            raise
        return _fail(f"this is a bug in Orchestrator: {type(error).__name__}: {error}; {ISSUES}")
    return 0


def _command(live_first: bool) -> Any:
    command: Any = typer.main.get_command(app)
    if live_first:
        command.commands |= command.commands.pop("live").commands
    return command


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"orchestrator {orchestrator_core.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="With any command: show where an error came from.")
    ] = False,
) -> None:
    """What every command knows; `run` itself takes `--debug` out, wherever it stands."""


def _fail(message: str) -> int:
    from orchestrator_core.cli.console import complain

    complain(message)
    return 1


def _about_file(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason.lower()}" if error.filename else reason


def _never_fail_to_print() -> None:
    """A terminal that knows no bars gets question marks, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(io.UnsupportedOperation, ValueError):
                stream.reconfigure(errors="replace")
