"""When two accesses of an array in a loop meet: an affine test on their subscripts.

A subscript is affine if it is a constant, plus integer multiples of the loop's variable and of values that do not
change in the loop. Two accesses whose subscripts differ by a constant only meet at a fixed distance in iterations, or
never; where anything is unknown they are taken to meet always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, SSAValue


@dataclass(frozen=True)
class Affine:
    """`constant` plus the sum of each value times its coefficient."""

    terms: Mapping[SSAValue, int]
    constant: int

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """This plus `factor` times `other`."""
        terms = dict(self.terms)
        for value, coefficient in other.terms.items():
            terms[value] = terms.get(value, 0) + factor * coefficient
        return Affine({value: c for value, c in terms.items() if c}, self.constant + factor * other.constant)


class Meeting(Enum):
    """How two accesses meet when it is at no fixed distance."""

    NEVER = "never"
    ALWAYS = "always"


@dataclass(frozen=True)
class Iteration:
    """The loop that accesses are compared in.

    Attributes:
        body: its block; None for straight code, where nothing changes.
        step: by which its variable, the first argument of `body`, goes on; None if not known.
        counted: whether it has such a variable: a while has none.
    """

    body: Block | None
    step: int | None
    counted: bool = True

    @property
    def variable(self) -> SSAValue | None:
        """The loop's variable, if it is a counted one."""
        return self.body.args[0] if self.counted and self.body and self.body.args else None

    def contains(self, value: SSAValue) -> bool:
        """Whether `value` is defined anew in each iteration."""
        block = value.block if isinstance(value, BlockArgument) else value.owner.parent_block()  # pyright: ignore[reportAttributeAccessIssue]  # the owner of a result is an operation
        while block is not None:
            if block is self.body:
                return True
            block = block.parent_block()
        return False


def constant_of(value: SSAValue | None) -> int | None:
    """The integer that `value` is known to be, or None."""
    if value is not None and isinstance(value.owner, arith.ConstantOp):
        attribute = value.owner.value
        if isinstance(attribute, IntegerAttr):
            return attribute.value.data
    return None


def affine(value: SSAValue, loop: Iteration) -> Affine | None:
    """`value` as an affine form within `loop`, or None if it is none."""
    if value is loop.variable or not loop.contains(value):
        constant = constant_of(value)
        if constant is not None:
            return Affine({}, constant)
        if value is loop.variable or not isinstance(value.owner, _LINEAR):
            return Affine({value: 1}, 0)
    match value.owner:
        case arith.ConstantOp():
            constant = constant_of(value)
            return None if constant is None else Affine({}, constant)
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            return _sum(lhs, rhs, 1, loop)
        case arith.SubiOp(lhs=lhs, rhs=rhs):
            return _sum(lhs, rhs, -1, loop)
        case arith.MuliOp(lhs=lhs, rhs=rhs):
            return _product(value, lhs, rhs, loop)
        case arith.IndexCastOp(input=source) | arith.ExtSIOp(input=source):
            return affine(source, loop)
        case _:
            return None


_LINEAR = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.IndexCastOp, arith.ExtSIOp)
"""Operations that an affine form is looked for through, wherever they stand."""


def _sum(lhs: SSAValue, rhs: SSAValue, sign: int, loop: Iteration) -> Affine | None:
    left, right = affine(lhs, loop), affine(rhs, loop)
    return None if left is None or right is None else left.plus(right, sign)


def _product(value: SSAValue, lhs: SSAValue, rhs: SSAValue, loop: Iteration) -> Affine | None:
    left, right = affine(lhs, loop), affine(rhs, loop)
    if left is None or right is None:
        return None
    for factor, other in ((left, right), (right, left)):
        if not factor.terms:
            return Affine({}, 0).plus(other, factor.constant)
    changes = loop.variable in left.terms or loop.variable in right.terms
    return None if changes else Affine({value: 1}, 0)


def meeting(first: Sequence[SSAValue], second: Sequence[SSAValue], loop: Iteration) -> Meeting | int:
    """At which distance d the access at `first` in iteration i and that at `second` in iteration i + d meet.

    Args:
        first: the subscripts of one access, outermost first.
        second: those of another access to the same array.
        loop: in which both are.
    """
    distance: Meeting | int = Meeting.ALWAYS
    for one, other in zip(first, second, strict=True):
        met = _meeting(affine(one, loop), affine(other, loop), loop)
        if met is Meeting.NEVER:
            return Meeting.NEVER
        if isinstance(met, int):
            if isinstance(distance, int) and distance != met:
                return Meeting.NEVER
            distance = met
    return distance


def _meeting(first: Affine | None, second: Affine | None, loop: Iteration) -> Meeting | int:
    if first is None or second is None:
        return Meeting.ALWAYS
    difference = first.plus(second, -1)
    if difference.terms:
        return Meeting.ALWAYS
    coefficient = first.terms.get(loop.variable, 0) if loop.variable else 0
    if coefficient == 0:
        return Meeting.ALWAYS if difference.constant == 0 else Meeting.NEVER
    if loop.step is None:
        return 0 if difference.constant == 0 else Meeting.ALWAYS
    distance, rest = divmod(difference.constant, coefficient * loop.step)
    return distance if rest == 0 else Meeting.NEVER
