"""Calls that stay calls: of functions that are recursive, or too large to be inlined.

`ad-prepare` notes on each what the callee may write to, so that whoever asks about memory needs not look at the callee,
which differentiation replaces by others. Such a call has the results that it has, writes to those arrays, and reads all
the others.

Two calls of the sweeps of one callee, which the reverse sweep of their caller has put there, are halves of a pair: what
one is given reaches what the other gives, by way of tapes. While a derivative is made it is noted of each call which of
its operands and results are derivatives, so that those can be there once for each member of a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeGuard, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, StringAttr, i64
from xdsl.ir import Operation, SSAValue

_WRITES = "tapeflow.writes"
_FORWARD_HALF = "tapeflow.forward_half"
_REVERSE_HALF = "tapeflow.reverse_half"
_DERIVATIVE_OPERANDS = "tapeflow.derivative_operands"
_DERIVATIVE_RESULTS = "tapeflow.derivative_results"


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
    return _positions(call, _WRITES)


def _positions(call: func.CallOp, name: str) -> Sequence[int]:
    positions = call.attributes[name]
    assert isinstance(positions, DenseArrayBase)
    return [int(position) for position in cast("DenseArrayBase[IntegerType]", positions).get_values()]


def written_operands(call: func.CallOp) -> Sequence[SSAValue]:
    """The arrays that `call`, a kept one, may write to."""
    return [call.arguments[position] for position in written_positions(call)]


def kept_calls(function: func.FuncOp) -> Sequence[func.CallOp]:
    """The calls in `function` that stay calls, in order."""
    return [op for op in function.body.walk() if is_kept(op)]


def pair_calls(forward: func.CallOp, reverse: func.CallOp, key: str) -> None:
    """Note that these are calls of the two sweeps of one callee; `key` is that of no other pair of their function."""
    forward.attributes[_FORWARD_HALF] = StringAttr(key)
    reverse.attributes[_REVERSE_HALF] = StringAttr(key)


def forward_half(op: Operation) -> str | None:
    """The key of the pair that `op`, a call of a forward sweep, is of; None for all else."""
    return _key(op, _FORWARD_HALF)


def reverse_half(op: Operation) -> str | None:
    """The key of the pair that `op`, a call of a reverse sweep, is of; None for all else."""
    return _key(op, _REVERSE_HALF)


def _key(op: Operation, name: str) -> str | None:
    key = op.attributes.get(name)
    return key.data if isinstance(key, StringAttr) else None


def mark_derivatives(call: func.CallOp, operands: Iterable[int], results: Iterable[int]) -> None:
    """Note which operands and results of `call`, by position, are derivatives in what is being made."""
    call.attributes[_DERIVATIVE_OPERANDS] = DenseArrayBase.from_list(i64, list(operands))
    call.attributes[_DERIVATIVE_RESULTS] = DenseArrayBase.from_list(i64, list(results))


def has_derivatives(op: Operation) -> TypeGuard[func.CallOp]:
    """Whether `op` is a call of which `mark_derivatives` has noted something."""
    return isinstance(op, func.CallOp) and _DERIVATIVE_OPERANDS in op.attributes


def derivative_operands(call: func.CallOp) -> Sequence[int]:
    """The positions of the operands of `call`, a marked one, that are derivatives."""
    return _positions(call, _DERIVATIVE_OPERANDS)


def derivative_results(call: func.CallOp) -> Sequence[int]:
    """The positions of the results of `call`, a marked one, that are derivatives."""
    return _positions(call, _DERIVATIVE_RESULTS)


def forget_derivatives(function: func.FuncOp) -> None:
    """`function` is made: what it calls is called like anything else."""
    for op in function.body.walk():
        for name in (_DERIVATIVE_OPERANDS, _DERIVATIVE_RESULTS):
            op.attributes.pop(name, None)
