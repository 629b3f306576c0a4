"""One function in C: its signature, what it reserves at entry, its body, and how it ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DictionaryAttr, MemRefType, StringAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tapeflow.analysis.parameters import parameter_name
from tapeflow.analysis.source_names import source_name
from tapeflow.backend.c_accesses import tape_names
from tapeflow.backend.c_arrays import ExtentParameter, memref_type
from tapeflow.backend.c_calls import Callees, callee_of, calls_of
from tapeflow.backend.c_expressions import is_expression
from tapeflow.backend.c_names import Scope
from tapeflow.backend.c_plan import Plan, extra_parameters
from tapeflow.backend.c_regions import CRegion
from tapeflow.backend.c_statements import Statements
from tapeflow.backend.c_tables import table_lines
from tapeflow.backend.c_text import Line, Text, wrapped
from tapeflow.backend.c_types import c_type, is_float
from tapeflow.backend.c_values import Values, field_names
from tapeflow.backend.printed import PrintedFunction, PrintedParameter
from tapeflow.dialects import spad, stream, tape
from tapeflow.dialects.handle import HandleType
from tapeflow.dialects.record import struct_bytes

_DECLARED_BY_MACROS = ("_base", "_stack", "_scrap")
"""Suffixes of the names that TF_TAPE, TF_TAPE_GROW and their like declare."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class RecordType:
    """The C struct of a record.

    Attributes:
        name: of the type.
        declaration: `typedef struct { double t, v; } f_j_if;`
        comment: how often it is recorded, and its size.
    """

    name: str
    declaration: str
    comment: tuple[str, str]


class FunctionPrinter:
    """Prints one function.

    Args:
        function: structured, as after `ad-prepare`.
        name: in C.
        file_scope: names that have a meaning in the whole file; those of the record types are added.
        text: the file's lines so far.
        callees: the functions that can be called.
        asked: extents of its arrays that it or its callees ask for.
        nested: whether it is for other functions of the file to call.
    """

    def __init__(
        self,
        function: func.FuncOp,
        name: str,
        file_scope: Scope,
        text: Text,
        callees: Callees | None = None,
        asked: Iterable[ExtentParameter] = (),
        *,
        nested: bool = False,
    ):
        self.function = function
        self.nested = nested
        self.plan = Plan(function, callees, asked)
        self._own_structs: set[CRegion] = set()
        self.name = name
        self.values = Values(self.plan, file_scope.inner())
        self.text = text
        self.signature = self._signature()
        self._name_regions(file_scope)
        self.plan.failure = self.failure
        self.statements = Statements(self.plan, self.values, text)

    # Signature

    def _signature(self) -> PrintedFunction:
        parameters = [PrintedParameter("tf", "tape")]
        names = [self.values.name(parameter_name(argument)) for argument in self.function.args]
        for argument, name in zip(self.function.args, names, strict=True):
            parameters += self._parameters_of(argument, name)
        results = tuple(self.function.function_type.outputs.data)
        returned = next((index for index in range(len(results)) if self.nested or not self._is_derivative(index)), None)
        for index, type_ in enumerate(results):
            if index != returned:
                c_type(type_, self.function.location)
                parameters.append(PrintedParameter(self.values.name(self._result_name(index)), "result", type_, index))
        return PrintedFunction(self.function.sym_name.data, self.name, tuple(parameters), results, returned)

    def _parameters_of(self, argument: BlockArgument, name: str) -> Iterator[PrintedParameter]:
        if isinstance(argument.type, HandleType):
            region = self.plan.regions.of(argument)
            self.values.regions[region] = name
            for position, tape_name in enumerate(tape_names(self.values, region)):
                self.values.scope.reserve(tape_name)
                yield PrintedParameter(tape_name, "handle", None, argument.index, position)
            return
        if not isinstance(argument.type, MemRefType):
            c_type(argument.type, argument.location)
            self.values.arguments[argument] = name
            yield PrintedParameter(name, "scalar", argument.type, argument.index)
            return
        array = self.plan.arrays.of_root[argument]
        self.values.arrays[array] = name
        element = memref_type(argument).element_type
        yield PrintedParameter(name, "array", element, argument.index, written=array.written)
        for extra in extra_parameters(self.plan, argument):
            extent = self.values.extras[extra] = self.values.name(f"{name}_extent{extra.dimension}")
            yield PrintedParameter(extent, "extent", None, argument.index, extra.dimension)

    def _result_attribute(self, index: int, name: str) -> str | None:
        if self.function.res_attrs is None:
            return None
        attributes: DictionaryAttr = self.function.res_attrs.data[index]
        attribute = attributes.data.get(name)
        return attribute.data if isinstance(attribute, StringAttr) else None

    def _adjoint_of(self, index: int) -> str | None:
        return self._result_attribute(index, "tapeflow.adjoint_of")

    def _is_derivative(self, index: int) -> bool:
        """Whether a result is an adjoint or a tangent: it leaves through a pointer."""
        return self._adjoint_of(index) is not None or self._result_attribute(index, "tapeflow.tangent_of") is not None

    def _result_name(self, index: int) -> str:
        if (of := self._adjoint_of(index)) is not None:
            return f"{of}_b"
        name = self._result_attribute(index, "tapeflow.name")
        return name if name is not None and name != "return" else f"result_{index}"

    @property
    def returned_type(self) -> str:
        """What the C function returns."""
        returned = self.signature.returned
        return "void" if returned is None else c_type(self.signature.results[returned])

    def prototype(self, *, restrict: bool) -> list[str]:
        """`double f(tf_tape *tf, int n, const double *restrict x)`, broken into lines."""
        start = f"{'static ' * self.nested}{self.returned_type} {self.name}("
        return wrapped(start, [declarator(parameter, restrict) for parameter in self.signature.parameters], ")")

    # Regions

    def _name_regions(self, file_scope: Scope) -> None:
        gradient_of = self.function.attributes.get("tapeflow.gradient_of")
        prefix = gradient_of.data if isinstance(gradient_of, StringAttr) else self.name
        for region in self.plan.regions.all:
            if not region.handed:
                self.values.regions[region] = self.values.name(f"tape_{region.label}")
            if region.is_struct and region.shared:
                self._name_shared(region, file_scope)
            elif region.is_struct:
                self.values.structs[region] = file_scope.take(self.values.name(f"{prefix}_{region.label}"))
            if region.handed:
                continue
            for name in tape_names(self.values, region):
                # The macros declare more names after the tape's.
                for suffix in ("", *_DECLARED_BY_MACROS):
                    self.values.scope.reserve(f"{name}{suffix}")

    def _name_shared(self, region: CRegion, file_scope: Scope) -> None:
        """The struct of a region that several functions use has one name in all."""
        structs, key = self.plan.callees.structs, (region.label, region.fields)
        if key not in structs:
            structs[key] = file_scope.take(self.values.name(region.label))
            self._own_structs.add(region)
        self.values.structs[region] = structs[key]

    def record_types(self) -> list[RecordType]:
        """The structs of the function's records; the loops round them are known once it is printed."""
        return [
            self._record_type(region)
            for region in self.plan.regions.all
            if region.is_struct and (not region.shared or region in self._own_structs)
        ]

    def _record_type(self, region: CRegion) -> RecordType:
        fields: list[str] = []
        for field, name in zip(region.fields, field_names(region), strict=True):
            if fields and fields[-1].split(" ", 1)[0] == field.ctype:
                fields[-1] += f", {name}"
            else:
                fields.append(f"{field.ctype} {name}")
        name = self.values.structs[region]
        size = struct_bytes(field.bytes for field in region.fields)
        declaration = f"typedef struct {{ {'; '.join(fields)}; }} {name};"
        return RecordType(name, declaration, (self._where(region), f"{size} byte{'' if size == 1 else 's'}"))

    def _where(self, region: CRegion) -> str:
        """`each i, j where c`: the loops and branches round the op that records."""
        loops: list[str] = []
        branches: list[str] = []
        writer = next((op for op in self.function.walk() if self._records(op, region)), None)
        child, parent = writer, None if writer is None else writer.parent_op()
        while child is not None and parent is not None:
            match parent:
                case scf.ForOp() | spad.LayerOp():
                    loops.insert(0, self.values.loops.get(parent, "iteration"))
                case scf.WhileOp():
                    loops.insert(0, "iteration")
                case scf.IfOp():
                    condition = self.values.conditions.get(parent, "a condition")
                    taken = child.parent_region() is parent.true_region
                    branches.insert(0, condition if taken else f"not {condition}")
                case _:
                    pass
            child, parent = parent, parent.parent_op()
        where = f"each {', '.join(loops)}" if loops else "once"
        return f"{where} where {', '.join(branches)}" if branches else where

    def _records(self, op: Operation, region: CRegion) -> bool:
        match op:
            case tape.PushOp():
                return self.plan.regions.of(op.tape) is region
            case tape.RecordOp():
                return self.plan.regions.of(op.region) is region
            case spad.WriteOp():
                return self.plan.regions.of(op.buffer) is region
            case _:
                return False

    # Body

    def print(self) -> None:
        """Append the function to the file's lines."""
        lines = self.text.lines
        # What a function of the file is given may overlap where nobody writes.
        lines += (Line(line) for line in self.prototype(restrict=not self.nested))
        lines.append(Line("{"))
        body = [*self._entry(), *self._body()]
        # Where no access needs the stride, nobody asks for the extent.
        words = {word for line in body for word in _WORD.findall(line.text)}
        lines += (self._line(f"(void){name};") for name in self.values.extras.values() if name not in words)
        lines += body
        lines.append(Line("}"))

    def _line(self, text: str) -> Line:
        self.values.take_printed()
        return Line(text, 1)

    @property
    def failure(self) -> str:
        """What the function returns when there is no memory."""
        match self.returned_type:
            case "void":
                return "return;"
            case ctype:
                return "return NAN;" if is_float(ctype) else "return 0;"

    def _entry(self) -> Iterator[Line]:
        """Sizes, the one reservation, then everything it is for."""
        for op in self.plan.entry.ops:
            yield from self.statements.assignments.pure(op)
        for array in self.plan.locals:
            wanted = source_name(array.root) or "array"
            self.values.arrays[array] = self.values.name(wanted)
        reservations = list(self._reservations())
        if self.nested and self.function.sym_name.data in self.plan.callees.recursive:
            yield self._line("if (TF_TOO_DEEP(tf))")
            yield Line(self.failure, 2)
        if self.nested:
            if not self._uses_runtime():
                yield self._line("(void)tf;")
        elif len(reservations) < 2:
            yield self._line(f"if (!tf_reserve(tf, {reservations[0] if reservations else 0}))")
        else:
            for text in wrapped("    if (!tf_reserve(tf, ", reservations, "))", " + "):
                yield self._line(text[4:])
        if not self.nested:
            yield Line(self.failure, 2)
        yield from self._unused()
        yield from self._arrays()
        for region in self.plan.regions.all:
            if region.handed:
                if not any(self.plan.regions.of(operand) is region for operand in self._handles_used()):
                    yield from (self._line(f"(void){name};") for name in tape_names(self.values, region))
            else:
                yield from self._opened(region)
        if self.text.lines:
            yield Line("")

    def _handles_used(self) -> Iterator[SSAValue]:
        """The tapes that an operation of the function uses."""
        for op in self.function.body.walk():
            yield from (operand for operand in op.operands if isinstance(operand.type, HandleType))

    def _uses_runtime(self) -> bool:
        """Whether a function that others call has to do with memory, or calls others; a replay takes none."""
        return (
            any(isinstance(op, tape.PushOp | tape.RecordOp) for op in self.function.body.walk())
            or any(callee_of(call) is not None for call in calls_of(self.function))
            or any(array.place == "arena" for array in self.plan.locals)
        )

    def _reservations(self) -> Iterator[str]:
        for array in self.plan.locals:
            if array.place == "arena":
                yield f"TF_BYTES({array.ctype}, {self.values.count(array).text})"
        for region in self.plan.regions.all:
            if region not in self.plan.growing:
                for ctype in self._ctypes(region):
                    yield f"TF_BYTES({ctype}, {self._records_of(region)})"

    def _ctypes(self, region: CRegion) -> list[str]:
        return [self.values.structs[region]] if region.is_struct else [field.ctype for field in region.fields]

    def _records_of(self, region: CRegion) -> str:
        if region.reserve is None:  # nothing ever leaves the scratchpad
            return str(region.buffer_type.copies.data * region.buffer_type.records.data)
        return self.values.of(region.reserve).text

    def _unused(self) -> Iterator[Line]:
        """Parameters that the function has no need of."""
        asked = self.plan.arrays
        read = {extent for array in asked.of_root.values() for extent in array.extents if isinstance(extent, SSAValue)}
        for argument, name in self.values.arguments.items():
            if argument not in self.plan.needs.values and argument not in read:
                yield self._line(f"(void){name};")

    def _arrays(self) -> Iterator[Line]:
        for array, name in self.values.arrays.items():
            count = self.values.count(array).text
            match array.place:
                case "parameter":
                    yield self._line(f"TF_ARRAY({name}, {count});")
                case "arena" if self.nested:
                    yield self._line(f"TF_LOCAL_NESTED({name}, {array.ctype}, {count});")
                    yield Line(f"if (!{name}) {self.failure}", 1)
                case "arena":
                    yield self._line(f"TF_LOCAL({name}, {array.ctype}, {count});")
                case "stack":
                    value = " = {0}" if array.zeroed else ""
                    yield self._line(f"{array.ctype} {name}[{count}]{value};")
                    yield self._line(f"TF_ARRAY({name}, {count});")
                case "scalar":
                    yield self._line(f"{array.ctype} {name};")
                case "table":
                    yield from (self._line(line) for line in table_lines(array, name))
                    yield self._line(f"TF_ARRAY({name}, {count});")

    def _opened(self, region: CRegion) -> Iterator[Line]:
        """The lines that open a region."""
        if region.shared:
            for name, ctype in zip(tape_names(self.values, region), self._ctypes(region), strict=True):
                yield self._line(f"TF_TAPE_SHARED({name}, {ctype});")
            return
        grows = region in self.plan.growing
        suffix = "_GROW" if grows else ""
        count = "" if grows else f", {self._records_of(region)}"
        if region.buffer is not None:
            shape = f"{region.buffer_type.copies.data}, {region.buffer_type.records.data}"
            name, struct = self.values.regions[region], self.values.structs[region]
            yield self._line(f"TF_OPEN{suffix}({name}, {struct}, {shape}{count});")
            return
        for name, ctype in zip(tape_names(self.values, region), self._ctypes(region), strict=True):
            yield self._line(f"TF_TAPE{suffix}({name}, {ctype}{count});")

    def _body(self) -> Iterator[Line]:
        entry = set(self.plan.entry.ops)
        ops = [op for op in self.plan.needs.block_ops(self.function) if op not in entry and self._has_text(op)]
        *ops, end = ops
        assert isinstance(end, func.ReturnOp)
        marks: dict[Operation, list[Line]] = {}
        if self.plan.reverse_start is not None:
            yield Line("/* forward sweep */", 1)
            start = self._before_silent(ops, self.plan.reverse_start)
            marks[start] = [Line(""), *self._turn_around(), Line("/* reverse sweep */", 1)]
        yield from self.statements.straight(ops, marks)
        if self.plan.reverse_start is None and self.plan.regions.all and not self.nested:
            yield Line("")
            yield from self._turn_around()
        yield from self._closed(ops)
        yield from self._returned(end)

    def _before_silent(self, ops: list[Operation], op: Operation) -> Operation:
        """The first of the operations in front of `op` that are printed behind it, within other statements."""
        index = ops.index(op)
        while index > 0 and is_expression(ops[index - 1]) and ops[index - 1].results[0] not in self.plan.variables.of:
            index -= 1
        return ops[index]

    def _has_text(self, op: Operation) -> bool:
        silent = (
            memref.AllocOp
            | memref.AllocaOp
            | memref.GetGlobalOp
            | memref.DeallocOp
            | tape.CreateOp
            | stream.CreateOp
            | spad.AllocOp
        )
        return not isinstance(op, silent)

    def _tapes(self) -> Iterator[tuple[CRegion, str]]:
        for region in self.plan.regions.all:
            yield from ((region, name) for name in tape_names(self.values, region))

    def _turn_around(self) -> Iterator[Line]:
        if not self.plan.regions.all:
            return
        yield Line("/* turn-around */", 1)
        if self.plan.growing:  # there may have been no memory in mid-run
            yield Line("if (tf->error)", 1)
            yield Line(self.failure, 2)
        for region, name in self._tapes():
            suffix = "_SHARED" if region.shared else "_GROW" if region in self.plan.growing else ""
            yield Line(f"TF_TURN{suffix}({name});", 1)
        yield Line("")

    def _closed(self, ops: list[Operation]) -> Iterator[Line]:
        """The ends of the regions that the IR does not end itself."""
        closed = {self.plan.regions.of(op.fifo) for op in ops if isinstance(op, stream.CloseOp)}
        for region in reversed(self.plan.regions.all):
            if region.buffer is not None and region not in closed:
                yield Line(f"{self.statements.accesses.macro('TF_CLOSE', region)};", 1)

    def _returned(self, end: func.ReturnOp) -> Iterator[Line]:
        if self.nested:
            for array, name in self.values.arrays.items():
                if array.place == "arena":
                    yield Line(f"TF_FREE_NESTED({name});", 1)
        for parameter in self.signature.parameters:
            if parameter.role == "result":
                value = self.values.of(end.arguments[parameter.index])
                yield self.statements.line(f"*{parameter.name} = {value.text};", end)
        if self.signature.returned is not None:
            value = self.values.of(end.arguments[self.signature.returned])
            yield self.statements.line(f"return {value.text};", end)


def declarator(parameter: PrintedParameter, restrict: bool) -> str:
    """`const double *restrict A`."""
    qualifier = "restrict " if restrict else ""
    match parameter.role:
        case "tape":
            return f"tf_tape *{parameter.name}"
        case "handle":
            return f"tf_shared *{parameter.name}"
        case "extent":
            return f"ptrdiff_t {parameter.name}"
        case "scalar":
            return f"{c_type(cast(Attribute, parameter.type))} {parameter.name}"
        case "array":
            constant = "" if parameter.written else "const "
            return f"{constant}{c_type(cast(Attribute, parameter.type))} *{qualifier}{parameter.name}"
        case "result":
            return f"{c_type(cast(Attribute, parameter.type))} *{qualifier}{parameter.name}"
