"""The functions that printed functions call: which there are, how they are called in C, what they must be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import SymbolTable

from tapeflow.analysis.library_functions import library_function
from tapeflow.backend.c_arrays import Arrays, ExtentParameter, root_of
from tapeflow.backend.printed import PrintedFunction


def calls_of(function: func.FuncOp) -> Sequence[func.CallOp]:
    """The calls in `function`, but for those of C's library."""
    return [op for op in function.walk() if isinstance(op, func.CallOp) and library_function(op) is None]


def callee_of(call: func.CallOp) -> func.FuncOp | None:
    """The function with a body that is called; None if there is none."""
    callee = SymbolTable.lookup_symbol(call, call.callee)
    return callee if isinstance(callee, func.FuncOp) and not callee.is_declaration else None


def called_by(functions: Iterable[func.FuncOp]) -> Sequence[func.FuncOp]:
    """The functions with a body that `functions` call, directly or not, in the order of their module."""
    found: dict[func.FuncOp, None] = {}
    pending = list(functions)
    while pending:
        for call in calls_of(pending.pop()):
            callee = callee_of(call)
            if callee is not None:
                if callee not in found:
                    pending.append(callee)
                found[callee] = None
    blocks = dict.fromkeys(function.parent for function in found if function.parent is not None)
    return [op for block in blocks for op in block.ops if isinstance(op, func.FuncOp) and op in found]


def extents_asked(functions: Iterable[func.FuncOp]) -> Mapping[func.FuncOp, frozenset[ExtentParameter]]:
    """The extents of array arguments that each function must be told, for itself or to tell those that it calls."""
    arrays = {function: Arrays(function) for function in functions}
    asked = {function: frozenset(each.extra) for function, each in arrays.items()}
    before: Mapping[func.FuncOp, frozenset[ExtentParameter]] = {}
    while before != asked:
        before = dict(asked)
        for function, own in arrays.items():
            found: set[ExtentParameter] = set(asked[function])
            for call in calls_of(function):
                if (callee := callee_of(call)) is not None:
                    for extra in asked.get(callee, ()):
                        found |= _told(own, call.arguments[extra.argument.index], extra.dimension)
            asked[function] = frozenset(found)
    return asked


def _told(arrays: Arrays, array: SSAValue, dimension: int) -> set[ExtentParameter]:
    """The parameter that tells an extent of `array`, if there is no other way to know it."""
    root = root_of(array)
    extent = arrays.of(array).extents[dimension]
    if extent is None:
        assert isinstance(root, BlockArgument)
        return {ExtentParameter(root, dimension)}
    return {extent} if isinstance(extent, ExtentParameter) else set()


@dataclass
class Callees:
    """What is known in C of the functions that can be called.

    Attributes:
        signatures: by name in the IR.
        can_run_out: whether one of them may find no memory, or no stack, before the forward sweep is over.
        recursive: the names in the IR of those that call themselves, directly or not.
        structs: the C types of the records of tapes that are handed on, by the tapes' names and fields.
    """

    signatures: dict[str, PrintedFunction] = field(default_factory=dict[str, PrintedFunction])
    can_run_out: bool = False
    recursive: frozenset[str] = frozenset()
    structs: dict[object, str] = field(default_factory=dict[object, str])

    def of(self, op: Operation) -> PrintedFunction | None:
        """The signature of what `op`, a call, calls; None if it is no call, or of something that is not known."""
        return self.signatures.get(op.callee.string_value()) if isinstance(op, func.CallOp) else None
