"""Memory accesses: of arrays, of tapes in cache, and of tapes that go through the scratchpad."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from tapeflow.backend.c_assignments import Assignments
from tapeflow.backend.c_lines import Lines
from tapeflow.backend.c_plan import Plan
from tapeflow.backend.c_regions import CRegion
from tapeflow.backend.c_text import Line
from tapeflow.backend.c_values import Values
from tapeflow.dialects import ad, spad, stream, tape

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

    # Tapes

    def macro(self, name: str, region: CRegion, *arguments: str) -> str:
        """A macro on a region, in the form for tapes without a reservation where it is one."""
        suffix = "_GROW" if region in self.plan.growing else ""
        return f"{name}{suffix}({', '.join((self.values.regions[region], *arguments))})"

    def record(self, handle: SSAValue, fields: Sequence[SSAValue], op: Operation) -> Iterator[Line]:
        """Put a record on a region."""
        region = self.plan.regions.of(handle)
        if region.is_struct:
            texts = ", ".join(self.values.of(value).text for value in fields)
            name = "TF_WRITE" if isinstance(op, spad.WriteOp) else "TF_RECORD"
            yield self.line(f"{self.macro(name, region, f'({self.values.structs[region]}){{{texts}}}')};", op)
            return
        for tape_name, value in zip(tape_names(self.values, region), fields, strict=True):
            suffix = "_GROW" if region in self.plan.growing else ""
            yield self.line(f"TF_RECORD{suffix}({tape_name}, {self.values.of(value).text});", op)

    def replay(self, op: tape.PopOp | tape.ReplayOp | spad.ReadOp) -> Iterator[Line]:
        """Take a record off a region."""
        region = self.plan.regions.of(op.operands[0])
        needed = [result for result in op.results if result in self.plan.needs.values]
        if region.is_struct:
            text = self.macro("TF_READ" if isinstance(op, spad.ReadOp) else "TF_REPLAY", region)
            if not needed:
                yield self.line(f"(void){text};", op)
                return
            name = self.values.records[op] = self.values.name(f"at_{region.label}")
            yield self.line(f"const {self.values.structs[region]} {name} = {text};", op)
            return
        suffix = "_GROW" if region in self.plan.growing else ""
        for tape_name, result in zip(tape_names(self.values, region), op.results, strict=True):
            text = f"TF_REPLAY{suffix}({tape_name})"
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
