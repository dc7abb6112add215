"""One function, rewritten so that whatever it does can be asked about first.

    f(x)            ->  @call(f)(x)
    x is None       ->  @plain(x) is @plain(None)
    for x in y      ->  for x in @each(y)
    while test      ->  while @tick() and (test)

Names that begin with an at sign are no user's. What is nested in the function (functions, lambdas,
classes) stays as it is, to the byte, as a task's key is made of its code; it is rewritten when it
is called itself. Line numbers stay.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import TypeVar

CALL, CLASS, EACH, ENTER = "@call", "@class", "@each", "@enter"
IMPORT, PLAIN, TICK = "@import", "@plain", "@tick"

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
N = TypeVar("N", bound=ast.AST)


@lru_cache(maxsize=1024)
def rewritten(code: CodeType) -> CodeType | None:
    """The code of the function, rewritten; None if its source is not there, or another one."""
    try:
        source = Path(code.co_filename).read_bytes()
        module = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    found = [node for node in ast.walk(module) if _is_of(node, code)]
    if len(found) != 1 or not _has(_compiled(ast.parse(source), code), code):
        return None
    _Rewriter().inside(found[0])
    made = [each for each in _all(_compiled(module, code)) if _same_place(each, code)]
    return made[0] if len(made) == 1 else None


def _compiled(module: ast.Module, code: CodeType) -> CodeType:
    made: CodeType = compile(
        ast.fix_missing_locations(module), code.co_filename, "exec", dont_inherit=True
    )
    return made


def _has(module: CodeType, code: CodeType) -> bool:
    """Has the file not changed since the function was loaded?"""
    return any(each.co_code == code.co_code for each in _all(module) if _same_place(each, code))


def _all(code: CodeType) -> list[CodeType]:
    nested = [each for each in code.co_consts if isinstance(each, CodeType)]
    return [code, *(each for inner in nested for each in _all(inner))]


def _same_place(one: CodeType, other: CodeType) -> bool:
    return (one.co_qualname, one.co_firstlineno) == (other.co_qualname, other.co_firstlineno)


def _is_of(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return (node.name, first) == (code.co_name, code.co_firstlineno)


class _Rewriter(ast.NodeTransformer):
    """Rewrites what runs in the frame of one function."""

    def inside(self, node: ast.AST) -> None:
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # A docstring is one only as long as it stands first.
            node.body = [new for each in node.body for new in _listed(self.visit(each))]

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._defaults(node.args)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._nested(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._nested(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> list[ast.stmt]:
        return [_first(node, CLASS), node]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.func = _asked(CALL, node.func)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if any(isinstance(each, ast.Is | ast.IsNot) for each in node.ops):
            node.left = _asked(PLAIN, node.left)
            node.comparators = [_asked(PLAIN, each) for each in node.comparators]
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        node.value = _asked(PLAIN, node.value)
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        self.generic_visit(node)
        node.subject = _asked(PLAIN, node.subject)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._loop(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        return self._loop(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        ticked = ast.Call(ast.Name(TICK, ast.Load()), [], [])
        node.test = _at(node.test, ast.BoolOp(ast.And(), [ticked, node.test]))
        return node

    def visit_withitem(self, node: ast.withitem) -> ast.AST:
        self.generic_visit(node)
        node.context_expr = _asked(ENTER, node.context_expr)
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [_first(node, IMPORT, each.name, 0) for each in node.names] + [node]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        return [_first(node, IMPORT, node.module or "", node.level), node]

    def _loop(self, node: N) -> N:
        self.generic_visit(node)
        node.iter = _asked(EACH, node.iter)  # type: ignore[attr-defined]
        return node

    def _nested(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.decorator_list = [_asked(CALL, self.visit(each)) for each in node.decorator_list]
        self._defaults(node.args)
        return node

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.visit(each) for each in arguments.defaults]
        arguments.kw_defaults = [each and self.visit(each) for each in arguments.kw_defaults]


def _asked(hook: str, value: ast.expr) -> ast.expr:
    return _at(value, ast.Call(ast.Name(hook, ast.Load()), [value], []))


def _first(node: ast.stmt, hook: str, *arguments: str | int) -> ast.stmt:
    """A statement that asks before this one."""
    constants: list[ast.expr] = [ast.Constant(each) for each in arguments]
    return _at(node, ast.Expr(ast.Call(ast.Name(hook, ast.Load()), constants, [])))


def _at(place: ast.AST, node: N) -> N:
    for each in ast.walk(node):
        if "lineno" in each._attributes and not hasattr(each, "lineno"):
            ast.copy_location(each, place)
    return node


def _listed(node: ast.AST | list[ast.stmt]) -> list[ast.stmt]:
    return node if isinstance(node, list) else [node]  # type: ignore[list-item]
