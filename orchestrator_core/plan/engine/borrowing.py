"""What a kernel is given, it borrows: numba's lowering, with fewer references counted (stage 3).

numba counts a reference to each array of each argument, for each name that it has in a function. A
kernel is given named tuples of dozens of arrays, so most of its code were counting: it is written,
read and simplified only to be thrown away at the end. Whoever calls holds an argument until the
call is over, and with it all of its fields. So names that can stand for nothing else are not
counted here: arguments, and fields of such names that are named tuples. Whatever is made from
them, or returned, is counted as ever.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from numba.core import ir, lowering, typed_passes, types
from numba.core.compiler_machinery import register_pass

Node = Any
"""A node of numba's intermediate representation, a type of numba's, or a value of LLVM's."""


class Borrowing(lowering.Lower):
    """From numba's intermediate representation to LLVM's."""

    def init(self) -> None:
        super().init()
        self._borrowed = borrowed(list(self.blocks.values()), self.typeof)
        self._arguments: dict[str, Node] = {}

    def lower_assign(self, ty: Node, inst: Node) -> Node:
        if inst.target.name not in self._borrowed:
            return super().lower_assign(ty, inst)
        if isinstance(inst.value, ir.Arg):
            return self.fnargs[inst.value.index]
        group = inst.value.value.name
        place = self.typeof(group).fields.index(inst.value.attr)
        return self.builder.extract_value(self.loadvar(group), place)

    def storevar(self, value: Node, name: str, argidx: int | None = None) -> None:
        if name not in self._borrowed:
            super().storevar(value, name, argidx)
        elif argidx is not None:
            self._arguments[name] = value
        elif name in self._singly_assigned_vars:
            super().storevar(value, name)
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    def loadvar(self, name: str) -> Node:
        """Arguments are there in all blocks, without a place in memory."""
        return self._arguments[name] if name in self._arguments else super().loadvar(name)

    def delvar(self, name: str) -> None:
        if name not in self._borrowed:
            super().delvar(name)


@register_pass(mutates_CFG=True, analysis_only=False)
class BorrowingLowering(typed_passes.NativeLowering):
    """numba's pass, which asks for its class."""

    _name = "borrowing_lowering"

    @property
    def lowering_class(self) -> type[Borrowing]:
        return Borrowing


def borrowed(blocks: list[Node], typeof: Any) -> set[str]:
    """The names that are not counted: set once, and not what is returned, which is given away."""
    assigns = [each for block in blocks for each in block.find_insts(ir.Assign)]
    times = Counter(each.target.name for each in assigns)
    ends = [block.terminator for block in blocks]
    returned = {end.value.name for end in ends if isinstance(end, ir.Return)}
    once = [a for a in assigns if times[a.target.name] == 1 and a.target.name not in returned]
    found: set[str] = set()
    while more := {a.target.name for a in once if _is_lent(a, found, typeof)} - found:
        found |= more
    return found


def _is_lent(assign: Node, known: set[str], typeof: Any) -> bool:
    """Is it an argument, or a field of what is known to be borrowed, of the very same type?"""
    value, kind = assign.value, typeof(assign.target.name)
    if isinstance(value, ir.Arg):
        return bool(typeof(f"arg.{value.name}") == kind)
    if not (isinstance(value, ir.Expr) and value.op == "getattr" and value.value.name in known):
        return False
    group = typeof(value.value.name)
    if not isinstance(group, cast(Any, types).BaseNamedTuple) or value.attr not in group.fields:
        return False
    return bool(group[group.fields.index(value.attr)] == kind)
