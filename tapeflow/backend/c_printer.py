"""Core IR and the Tapeflow dialects as C99: one source for the native and the modelled machine.

The text is written to be read: the source's names, one statement a line, loops as loops. What each macro does, and
what it costs on the model, stands in `include/tapeflow_rt.h`; docs/backend.md says how the text comes about.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tapeflow.analysis.call_graph import CallGraph
from tapeflow.analysis.requests import is_derivative
from tapeflow.backend.c_calls import Callees, called_by, extents_asked
from tapeflow.backend.c_externals import external_signature, externals_of
from tapeflow.backend.c_function import FunctionPrinter, RecordType, declarator
from tapeflow.backend.c_header import header_text
from tapeflow.backend.c_names import Scope
from tapeflow.backend.c_text import Line, Text, wrapped
from tapeflow.backend.c_types import c_type
from tapeflow.backend.printed import PrintedC, PrintedFunction
from tapeflow.errors import TapeflowError


def print_c(op: func.FuncOp | ModuleOp, *, name: str | None = None) -> PrintedC:
    """Print functions as C.

    Args:
        op: a function, or a module whose functions with a body are all printed.
        name: of the one function to print; None for all.

    Returns:
        The text, named after the one function or the first derivative among them, else the first function.

    Raises:
        TapeflowError: an operation, a type or a layout that has no C, and where it stands; no such function.
    """
    functions = _functions(op, name)
    nested = called_by(functions)
    functions = [function for function in functions if function not in nested or not _is_private(function)]
    text = Text()
    file_scope = Scope()
    names = [file_scope.take(function.sym_name.data) for function in functions]
    asked = extents_asked((*nested, *functions))
    callees = Callees()
    externals = externals_of((*nested, *functions))
    for external in externals:
        callees.signatures[external.sym_name.data] = external_signature(external, file_scope)
    inner = _nested_printers(nested, functions, file_scope, text, callees)
    printers = [
        FunctionPrinter(function, c_name, file_scope, text, callees, asked[function])
        for function, c_name in zip(functions, names, strict=True)
    ]
    records: list[RecordType] = []
    for printer in (*inner, *printers):
        if text.lines:
            text.lines.append(Line(""))
        printer.print()
        records += printer.record_types()
    file_name = names[functions.index(_most_wanted(functions))]
    include = [*_rounding((*nested, *functions)), Line(f'#include "{file_name}.h"'), Line("")]
    declared = _externals([callees.signatures[external.sym_name.data] for external in externals])
    text.lines = [*include, *declared, *_record_lines(records), *_prototypes(inner), *text.lines]
    return PrintedC(
        name=file_name,
        source=str(text),
        header=header_text(file_name, printers),
        functions=tuple(printer.signature for printer in printers),
        blocks=tuple(text.numbered()),
        externals=tuple((external.sym_name.data, external.location) for external in externals),
        recursive=bool(callees.recursive),
    )


def _is_private(function: func.FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _nested_printers(
    nested: Sequence[func.FuncOp], functions: Sequence[func.FuncOp], file_scope: Scope, text: Text, callees: Callees
) -> Sequence[FunctionPrinter]:
    """Printers of the functions that others call: as `static` ones, beside what is printed of them for users."""
    asked = extents_asked((*nested, *functions))
    # That they can be called must be known before any of them is looked at.
    for function in nested:
        callees.signatures[function.sym_name.data] = PrintedFunction(function.sym_name.data, "", (), (), None)
    callees.recursive = CallGraph({function.sym_name.data: function for function in nested}).recursive
    callees.can_run_out |= bool(callees.recursive)
    printers: list[FunctionPrinter] = []
    for function in nested:
        name = function.sym_name.data
        name = file_scope.take(f"{name}_call" if function in functions else name)
        printer = FunctionPrinter(function, name, file_scope, text, callees, asked[function], nested=True)
        callees.signatures[function.sym_name.data] = printer.signature
        callees.can_run_out |= any(array.place == "arena" for array in printer.plan.locals)
        printers.append(printer)
    return printers


def _rounding(functions: Sequence[func.FuncOp]) -> list[Line]:
    """What keeps gcc from taking values for rounded that it has not rounded, where values are rounded to `float`."""
    if not any(isinstance(op, arith.TruncFOp) for function in functions for op in function.walk()):
        return []
    return [
        Line("/* Making vectors of straight code, gcc takes (double)(float)x for x (seen in 12.2, from -O2 on). */"),
        Line("#if defined(__GNUC__) && !defined(__clang__)"),
        Line('#pragma GCC optimize("no-tree-slp-vectorize")'),
        Line("#endif"),
        Line(""),
    ]


def _prototypes(printers: Sequence[FunctionPrinter]) -> list[Line]:
    """Declarations of the functions that others of the file call."""
    lines = [Line(line) for printer in printers for line in _declared(printer)]
    return [*lines, Line("")] if lines else []


def _externals(signatures: Sequence[PrintedFunction]) -> list[Line]:
    """Declarations of the functions that the user links."""
    lines: list[Line] = []
    for signature in signatures:
        returned = "void" if signature.returned is None else c_type(signature.results[signature.returned])
        parameters = [declarator(parameter, False).rstrip() for parameter in signature.parameters] or ["void"]
        *first, last = wrapped(f"extern {returned} {signature.name}(", parameters, ")")
        lines += map(Line, [*first, f"{last};"])
    return [*lines, Line("")] if lines else []


def _declared(printer: FunctionPrinter) -> list[str]:
    prototype = printer.prototype(restrict=False)
    return [*prototype[:-1], f"{prototype[-1]};"]


def _functions(op: Operation, name: str | None) -> list[func.FuncOp]:
    found = [inner for inner in op.walk() if isinstance(inner, func.FuncOp) and not inner.is_declaration]
    if name is not None:
        found = [function for function in found if function.sym_name.data == name]
    if not found:
        raise TapeflowError(
            "there is no function to print as C" if name is None else f"there is no function '{name}' to print as C",
            location=op.location,
        )
    return found


def _most_wanted(functions: Sequence[func.FuncOp]) -> func.FuncOp:
    """The function that gives the file its name."""
    derivatives = [function for function in functions if is_derivative(function)]
    return (derivatives or functions)[0]


def _record_lines(records: Sequence[RecordType]) -> list[Line]:
    """The types of the records, comments aligned."""
    if not records:
        return []
    declarations = max(len(record.declaration) for record in records)
    wheres = max(len(record.comment[0]) for record in records) + 1
    sizes = max(len(record.comment[1]) for record in records)
    counts = max(len(record.comment[1].split(" ")[0]) for record in records)
    lines: list[Line] = []
    for record in records:
        where, size = record.comment
        aligned = " " * (counts - len(size.split(" ")[0])) + size
        comment = f"/* {(where + ':').ljust(wheres)} {aligned.ljust(sizes)} */"
        lines.append(Line(f"{record.declaration.ljust(declarations)}  {comment}"))
    return [*lines, Line("")]
