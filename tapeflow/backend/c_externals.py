"""Functions that are called and only declared: the user links them. Their prototypes, and how they are called.

`@g(f64, memref<?xf64>) -> (f64, f64)` is `double g(double, double *, double *);`: the first result is returned, the
others are set through pointers, which come last. An array is a pointer to its first element, in row order; its extents
are not passed, so a function that must know them takes them as arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import Attribute
from xdsl.traits import SymbolTable

from tapeflow.analysis.user_rules import declared_writes
from tapeflow.backend.c_calls import calls_of
from tapeflow.backend.c_names import Scope
from tapeflow.backend.c_types import c_type
from tapeflow.backend.printed import PrintedFunction, PrintedParameter
from tapeflow.errors import TapeflowError


def externals_of(functions: Iterable[func.FuncOp]) -> Sequence[func.FuncOp]:
    """The functions that `functions` call and that are only declared, in the order of their first calls."""
    found: dict[func.FuncOp, None] = {}
    for function in functions:
        for call in calls_of(function):
            callee = SymbolTable.lookup_symbol(call, call.callee)
            if isinstance(callee, func.FuncOp) and callee.is_declaration:
                found[callee] = None
    return list(found)


def external_signature(function: func.FuncOp, file_scope: Scope) -> PrintedFunction:
    """How a declared function is called in C.

    Raises:
        TapeflowError: C or the generated file has taken its name, or a type of it has no C.
    """
    name = function.sym_name.data
    if file_scope.take(name) != name:
        raise TapeflowError(
            f"'{name}' is only declared here, and cannot have that name in the generated C",
            location=function.location,
            hint="call it something else",
        )
    types, results = function.function_type.inputs.data, tuple(function.function_type.outputs.data)
    written = declared_writes(function)
    parameters: list[PrintedParameter] = []
    for index, type_ in enumerate(types):
        if isinstance(type_, MemRefType):
            element = cast("MemRefType[Attribute]", type_).element_type
            if not isinstance(type_.layout, NoneAttr) or DYNAMIC_INDEX in type_.get_shape()[1:]:
                raise TapeflowError(
                    f"'{name}' is only declared here, and takes an array of type {type_}, which C cannot be passed",
                    location=function.location,
                    hint="let all extents but the outermost be numbers, without a layout",
                )
            c_type(element, function.location)
            parameters.append(PrintedParameter("", "array", element, index, written=index in written))
        else:
            c_type(type_, function.location)
            parameters.append(PrintedParameter("", "scalar", type_, index))
    for index, type_ in enumerate(results):
        c_type(type_, function.location)
        if index:
            parameters.append(PrintedParameter("", "result", type_, index))
    return PrintedFunction(name, name, tuple(parameters), results, 0 if results else None)
