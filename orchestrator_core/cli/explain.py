"""`orchestrator explain`: what the conductor finds in a JAX function, and what it would do."""

from __future__ import annotations

from typing import Annotated

import typer


def explain(
    target: Annotated[
        str, typer.Argument(metavar="FUNCTION", help="MODULE:FUNCTION or FILE.py:FUNCTION.")
    ],
    arg: Annotated[
        list[str] | None,
        typer.Option(
            "--arg", metavar="SPEC", help="An argument: f32[4,128,64], NAME=i32[4], or a number."
        ),
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="SIZE", help="At most, such as 2GiB.")
    ] = None,
    precision: Annotated[str, typer.Option("--precision", help="real or strict.")] = "real",
    objective: Annotated[str, typer.Option("--objective", help="time or memory.")] = "time",
    allow: Annotated[
        list[str] | None, typer.Option("--allow", metavar="NAME", help="Only these rewrites.")
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option("--deny", metavar="NAME", help="All but these rewrites.")
    ] = None,
    grad: Annotated[bool, typer.Option("--grad", help="Of its value and gradient.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
) -> None:
    """Show what the conductor finds in a JAX function, and what it would do; run nothing.

    FUNCTION may have an attribute `example_args`, a tuple; or take no arguments and return a
    function and a tuple of arguments; or be given them with --arg, once for each.
    """
    from orchestrator_core.cli.console import print_json, remark, working
    from orchestrator_core.cli.jax_function import function_named

    options = {"memory": memory, "precision": precision, "objective": objective}
    rewrites = {"allow": allow or None, "deny": deny or ()}
    with working(f"looking into {target}"):
        explanation = function_named(target, arg or []).explained(grad, **options, **rewrites)
    if as_json:
        print_json(explanation.to_plain())
        return
    typer.echo(str(explanation))
    if explanation.reason:
        remark("conducted, it would run as it was")
