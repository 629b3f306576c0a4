"""Memory accesses: of arrays, of tapes in cache, and of tapes that go through the scratchpad."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects import func, memref
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.source_names import source_name
from tapeflow.backend.c_arrays import ExtentParameter
from tapeflow.backend.c_assignments import Assignments
from tapeflow.backend.c_lines import Lines
from tapeflow.backend.c_plan import Plan
from tapeflow.backend.c_regions import CRegion
from tapeflow.backend.c_text import Line
from tapeflow.backend.c_types import c_type
from tapeflow.backend.c_values import Values
from tapeflow.backend.printed import PrintedParameter
from tapeflow.dialects import ad, spad, stream, tape
from tapeflow.errors import TapeflowError

TRANSFERS = (spad.DmaStartOp, spad.DmaWaitOp, stream.PushOp, stream.PrefetchOp, stream.PopOp)


class Accesses:
    """Prints the memory accesses of one function."""

    def __init__(self, plan: Plan, values: Values, lines: Lines, assignments: Assignments):
        self.plan = plan
        self.values = values
        self.line = lines.line
        self.defined = assignments.defined

    def access(self, op: Operation) -> Iterator[Line]:
        """The lines of an operation on memory."""
        match op:
            case memref.LoadOp():
                yield self.load(op)
            case memref.StoreOp():
                yield self.store(op)
            case ad.AccumulateOp():
                yield self.accumulate(op)
            case func.CallOp():
                yield from self.call(op)
            case tape.PushOp():
                yield from self.record(op.tape, [op.value], op)
            case tape.RecordOp():
                yield from self.record(op.region, op.values, op)
            case spad.WriteOp():
                yield from self.record(op.buffer, op.values, op)
            case tape.PopOp() | tape.ReplayOp() | spad.ReadOp():
                yield from self.replay(op)
            case spad.FullOp() | spad.EmptyOp():
                if op not in self.plan.inlining.nested:
                    yield self.defined(op.answer, self.values.question(op), op)
            case stream.CloseOp():
                yield self.line(f"{self.macro('TF_CLOSE', self.plan.regions.of(op.fifo))};", op)
            case _ if isinstance(op, TRANSFERS):
                yield self.line(f"{self.transfer(op)};", op)
            case _:
                return

    # Arrays

    def load(self, op: memref.LoadOp) -> Line:
        """A load into its variable."""
        name = self.values.array(op.memref)
        if self.plan.arrays.of(op.memref).place == "scalar":
            return self.defined(op.res, name, op)
        return self.defined(op.res, f"TF_LOAD({name}, {self.subscript(op.memref, op.indices)})", op)

    def subscript(self, array: SSAValue, indices: Sequence[SSAValue]) -> str:
        """The text of the place of an element."""
        return self.values.subscript(array, indices).text

    def store(self, op: memref.StoreOp) -> Line:
        """A store."""
        name, text = self.values.array(op.memref), self.values.of(op.value).text
        if self.plan.arrays.of(op.memref).place == "scalar":
            return self.line(f"{name} = {text};", op)
        return self.line(f"TF_STORE({name}, {self.subscript(op.memref, op.indices)}, {text});", op)

    def accumulate(self, op: ad.AccumulateOp) -> Line:
        """An addition to an element of a shadow."""
        name, text = self.values.array(op.memref), self.values.of(op.value).text
        if self.plan.arrays.of(op.memref).place == "scalar":
            return self.line(f"{name} += {text};", op)
        return self.line(f"TF_ADD({name}, {self.subscript(op.memref, op.indices)}, {text});", op)

    # Calls

    def call(self, op: func.CallOp) -> Iterator[Line]:
        """A call, its first result what it returns, the others set through pointers."""
        callee = self.plan.callees.of(op)
        assert callee is not None
        others: dict[int, str] = {}
        for parameter in callee.parameters:
            if parameter.role == "result":
                result = op.results[parameter.index]
                wanted = f"{source_name(result) or 'result'}_out"
                others[parameter.index] = name = self.values.name(wanted)
                yield self.line(f"{c_type(result.type, op.location)} {name};")
        arguments = [self._argument(op, parameter, others) for parameter in callee.parameters]
        text = f"{callee.name}({', '.join(arguments)})"
        returned = None if callee.returned is None else op.results[callee.returned]
        if returned is not None and returned in self.plan.needs.values:
            yield self.defined(returned, text, op)
        else:
            yield self.line(f"(void){text};" if returned is not None else f"{text};", op)
        if self.plan.callees.can_run_out:
            yield self.line(f"if (tf->error) {self.plan.failure}")
        for index, name in others.items():
            result = op.results[index]
            yield self.defined(result, name, op) if result in self.plan.needs.values else self.line(f"(void){name};")

    def _argument(self, op: func.CallOp, parameter: PrintedParameter, others: Mapping[int, str]) -> str:
        """What a call passes for `parameter`."""
        match parameter.role:
            case "tape":
                return "tf"
            case "result":
                return f"&{others[parameter.index]}"
            case "scalar":
                return self.values.of(op.arguments[parameter.index]).text
            case "extent":
                return self._extent(op.arguments[parameter.index], parameter.dimension)
            case "array":
                return self._array(op, op.arguments[parameter.index])
            case "handle":
                region = self.plan.regions.of(op.arguments[parameter.index])
                name = tape_names(self.values, region)[parameter.dimension]
                return name if region.handed else f"&{name}"

    def _extent(self, array: SSAValue, dimension: int) -> str:
        root = self.plan.arrays.of(array)
        extent = root.extents[dimension]
        if extent is None:
            assert isinstance(root.root, BlockArgument)
            extent = ExtentParameter(root.root, dimension)
        return self.values.extent(extent).text

    def _array(self, op: func.CallOp, array: SSAValue) -> str:
        """A pointer to the first element of a whole array."""
        value = array
        while isinstance(value, OpResult) and isinstance(value.op, memref.CastOp):
            value = value.op.source
        if isinstance(value, OpResult) and isinstance(value.op, memref.SubviewOp):
            raise TapeflowError(
                "a part of an array that is passed to a function that is not inlined cannot be printed as C",
                location=op.location,
                hint="pass the whole array, and the index where the part starts",
            )
        name = self.values.array(array)
        return f"&{name}" if self.plan.arrays.of(array).place == "scalar" else name

    # Tapes

    def macro(self, name: str, region: CRegion, *arguments: str) -> str:
        """A macro on a region, in the form for tapes without a reservation where it is one."""
        suffix = "_GROW" if region in self.plan.growing else ""
        return f"{name}{suffix}({', '.join((self.values.regions[region], *arguments))})"

    def record(self, handle: SSAValue, fields: Sequence[SSAValue], op: Operation) -> Iterator[Line]:
        """Put a record on a region."""
        region = self.plan.regions.of(handle)
        if region.shared:
            yield from self._record_shared(region, fields, op)
            return
        if region.is_struct:
            texts = ", ".join(self.values.of(value).text for value in fields)
            name = "TF_WRITE" if isinstance(op, spad.WriteOp) else "TF_RECORD"
            yield self.line(f"{self.macro(name, region, f'({self.values.structs[region]}){{{texts}}}')};", op)
            return
        for tape_name, value in zip(tape_names(self.values, region), fields, strict=True):
            suffix = "_GROW" if region in self.plan.growing else ""
            yield self.line(f"TF_RECORD{suffix}({tape_name}, {self.values.of(value).text});", op)

    def _record_shared(self, region: CRegion, fields: Sequence[SSAValue], op: Operation) -> Iterator[Line]:
        """Put a record on a region that several functions use."""
        texts = [self.values.of(value).text for value in fields]
        if region.is_struct:
            struct = self.values.structs[region]
            name = self.values.regions[region]
            yield self.line(f"TF_RECORD_SHARED({name}, {struct}, ({struct}){{{', '.join(texts)}}});", op)
            return
        for name, field, text in zip(tape_names(self.values, region), region.fields, texts, strict=True):
            yield self.line(f"TF_RECORD_SHARED({name}, {field.ctype}, {text});", op)

    def replay(self, op: tape.PopOp | tape.ReplayOp | spad.ReadOp) -> Iterator[Line]:
        """Take a record off a region."""
        region = self.plan.regions.of(op.operands[0])
        needed = [result for result in op.results if result in self.plan.needs.values]
        if region.is_struct:
            text = self.macro("TF_READ" if isinstance(op, spad.ReadOp) else "TF_REPLAY", region)
            if region.shared:
                text = f"TF_REPLAY_SHARED({self.values.regions[region]}, {self.values.structs[region]})"
            if not needed:
                yield self.line(f"(void){text};", op)
                return
            name = self.values.records[op] = self.values.name(f"at_{region.label}")
            yield self.line(f"const {self.values.structs[region]} {name} = {text};", op)
            return
        suffix = "_GROW" if region in self.plan.growing else ""
        for tape_name, field, result in zip(tape_names(self.values, region), region.fields, op.results, strict=True):
            text = f"TF_REPLAY{suffix}({tape_name})"
            if region.shared:
                text = f"TF_REPLAY_SHARED({tape_name}, {field.ctype})"
            yield self.defined(result, text, op) if result in needed else self.line(f"(void){text};", op)

    def transfer(self, op: Operation) -> str:
        """The macro of a transfer."""
        match op:
            case spad.DmaStartOp():
                name, handle = "TF_DMA_OUT" if op.is_outward else "TF_DMA_IN", op.buffer
            case spad.DmaWaitOp():
                name, handle = "TF_DMA_WAIT", op.buffer
            case stream.PushOp():
                name, handle = "TF_PUSH", op.buffer
            case stream.PrefetchOp():
                name, handle = "TF_PREFETCH", op.buffer
            case stream.PopOp():
                name, handle = "TF_POP", op.buffer
            case _:
                raise AssertionError(f"{op.name} is no transfer")
        return f"{name}({self.values.regions[self.plan.regions.of(handle)]})"


def tape_names(values: Values, region: CRegion) -> list[str]:
    """The C tapes of a region: one, or in `soa` one a field."""
    name = values.regions[region]
    return [f"{name}_{field.name}" for field in region.fields] if region.layout == "soa" else [name]
