"""Calls that stay calls: of functions that are recursive, or too large to be inlined.

`ad-prepare` notes on each what the callee may write to, so that whoever asks about memory needs not look at the callee,
which differentiation replaces by others. Such a call has the results that it has, writes to those arrays, and reads all
the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeGuard, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i64
from xdsl.ir import Operation, SSAValue

_WRITES = "tapeflow.writes"


def keep_call(call: func.CallOp, written: Iterable[int]) -> None:
    """Note that `call` stays a call, of a function that may write to the arrays among its arguments at `written`."""
    call.attributes[_WRITES] = DenseArrayBase.from_list(i64, sorted(written))


def forget_call(call: func.CallOp) -> None:
    """Let `call`, a kept one, be a call like others, which can be inlined."""
    call.attributes.pop(_WRITES, None)


def is_kept(op: Operation) -> TypeGuard[func.CallOp]:
    """Whether `op` is a call that stays one."""
    return isinstance(op, func.CallOp) and _WRITES in op.attributes


def written_positions(call: func.CallOp) -> Sequence[int]:
    """The positions of the arrays that `call`, a kept one, may write to."""
    positions = call.attributes[_WRITES]
    assert isinstance(positions, DenseArrayBase)
    return [int(position) for position in cast("DenseArrayBase[IntegerType]", positions).get_values()]


def written_operands(call: func.CallOp) -> Sequence[SSAValue]:
    """The arrays that `call`, a kept one, may write to."""
    return [call.arguments[position] for position in written_positions(call)]


def kept_calls(function: func.FuncOp) -> Sequence[func.CallOp]:
    """The calls in `function` that stay calls, in order."""
    return [op for op in function.body.walk() if is_kept(op)]
