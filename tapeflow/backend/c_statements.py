"""The statements of a function: one memory access a statement, one statement a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.source_names import source_name
from tapeflow.backend import c_expressions as c
from tapeflow.backend.c_expressions import Expression, is_expression
from tapeflow.backend.c_loops import Loop, LoopForm
from tapeflow.backend.c_plan import Plan
from tapeflow.backend.c_reads import Merge
from tapeflow.backend.c_regions import CRegion
from tapeflow.backend.c_text import Line, Text, TextBlock
from tapeflow.backend.c_types import c_type, of_arithmetic, same
from tapeflow.backend.c_values import Values
from tapeflow.backend.c_variables import Variable
from tapeflow.dialects import ad, spad, stream, tape

LOOP_LETTERS = "ijkl"

_COMPOUND: dict[type[Operation], tuple[str, bool]] = {
    arith.AddfOp: ("+", True),
    arith.SubfOp: ("-", False),
    arith.MulfOp: ("*", True),
    arith.DivfOp: ("/", False),
    arith.AddiOp: ("+", True),
    arith.SubiOp: ("-", False),
    arith.MuliOp: ("*", True),
}
"""Operations with an assignment of their own, and whether they commute."""

_DESCRIPTIONS: dict[type[Operation], str] = {
    arith.AddfOp: "sum",
    arith.AddiOp: "sum",
    arith.SubfOp: "difference",
    arith.SubiOp: "difference",
    arith.MulfOp: "product",
    arith.MuliOp: "product",
    arith.DivfOp: "quotient",
    arith.DivSIOp: "quotient",
    arith.DivUIOp: "quotient",
    arith.FloorDivSIOp: "quotient",
    arith.CeilDivSIOp: "quotient",
    arith.CeilDivUIOp: "quotient",
    arith.RemSIOp: "remainder",
    arith.RemUIOp: "remainder",
    arith.MinSIOp: "least",
    arith.MinUIOp: "least",
    arith.MinnumfOp: "least",
    arith.MinimumfOp: "least",
    arith.MaxSIOp: "most",
    arith.MaxUIOp: "most",
    arith.MaxnumfOp: "most",
    arith.MaximumfOp: "most",
    arith.NegfOp: "negated",
    arith.SelectOp: "chosen",
    arith.AndIOp: "bits",
    arith.OrIOp: "bits",
    arith.XOrIOp: "bits",
    arith.ShLIOp: "bits",
    arith.ShRSIOp: "bits",
    arith.ShRUIOp: "bits",
    arith.TruncFOp: "rounded",
    arith.FPToSIOp: "truncated",
    arith.FPToUIOp: "truncated",
    arith.TruncIOp: "truncated",
    scf.IfOp: "chosen",
    scf.ForOp: "carried",
    spad.LayerOp: "carried",
}
"""What to call a value that the source has no name for."""

_TRANSFERS = (spad.DmaStartOp, spad.DmaWaitOp, stream.PushOp, stream.PrefetchOp, stream.PopOp)


@dataclass(frozen=True)
class Copy:
    """An assignment that is to happen at the same time as others."""

    variable: Variable
    source: SSAValue


class Statements:
    """Prints the body of one function."""

    def __init__(self, plan: Plan, values: Values, text: Text):
        self.plan = plan
        self.values = values
        self.text = text
        self.depth = 1
        self.loop_depth = 0
        self.block: TextBlock | None = None
        self.in_branch_of_segments = False
        self._loops_in: dict[Operation, bool] = {}
        self._preset: set[tuple[Operation, Variable]] = set()

    # Lines

    def line(self, text: str, *ops: Operation) -> Line:
        """A line at the present depth, where `ops` and what was printed since the last line are printed."""
        return self.text.note(Line(text, self.depth), [*ops, *self.values.take_printed()])

    def step(self, kind: Literal["loop", "segment"]) -> Line:
        """`TF_STEP();`, the begin of a block of straight code."""
        line = Line("TF_STEP();", self.depth)
        self.block = TextBlock(line, kind, None)
        self.text.blocks.append(self.block)
        return line

    # Blocks

    def has_loop(self, op: Operation) -> bool:
        """Whether a loop runs in `op`, or is `op`."""
        if op not in self._loops_in:
            self._loops_in[op] = isinstance(op, scf.ForOp | spad.LayerOp | memref.CopyOp) or any(
                self.has_loop(child)
                for region in op.regions
                for block in region.blocks
                for child in block.ops
                if child in self.plan.needs.ops
            )
        return self._loops_in[op]

    def straight(self, ops: Sequence[Operation], marks: dict[Operation, list[Line]] | None = None) -> Iterator[Line]:
        """The statements of `ops`, a `TF_STEP()` before each piece of them that no loop interrupts."""
        fresh = True
        for index, op in enumerate(ops):
            if marks and op in marks:
                yield from marks[op]
            if self.has_loop(op):
                yield from self.statement(op)
                fresh = True
                continue
            if fresh and self._costs(ops, index):
                yield self.step("segment")
                fresh = False
            self._count(op)
            yield from self.statement(op)

    def _costs(self, ops: Sequence[Operation], begin: int) -> bool:
        """Whether anything is done from `begin` on up to the next loop."""
        for op in ops[begin:]:
            if self.has_loop(op):
                return False
            if self._is_counted(op) and not self.plan.inlining.is_free(op):
                return True
        return False

    def _is_counted(self, op: Operation) -> bool:
        silent = arith.ConstantOp | memref.AllocOp | memref.AllocaOp | memref.DimOp | memref.CastOp | memref.SubviewOp
        return not isinstance(op, silent | func.ReturnOp | memref.DeallocOp | stream.CloseOp)

    def _count(self, op: Operation) -> None:
        if self.block is not None and self._is_counted(op):
            self.block.ops.append(op)

    def body(self, loop: Operation) -> Iterator[Line]:
        """The body of a loop: its operations, then what it hands to the next iteration."""
        ops = self.plan.needs.block_ops(loop)
        outer = self.block
        if any(self.has_loop(op) for op in ops):
            first = next(index for index, op in enumerate(ops) if self.has_loop(op))
            yield self.step("segment")
            for op in ops[:first]:
                self._count(op)
                yield from self.statement(op)
            yield from self.straight(ops[first:])
        else:
            yield self.step("loop")
            for op in ops:
                self._count(op)
                yield from self.statement(op)
        yield from self.yielded(loop.regions[0].block)
        self.block = outer

    def yielded(self, block: Block) -> Iterator[Line]:
        """The assignments at the end of a block."""
        assert block.last_op is not None
        parent = block.parent_op()
        assert parent is not None
        copies = [
            Copy(self.plan.variables.of[merge.result], assigned)
            for merge in self.plan.needs.merges(parent)
            for end, assigned in merge.yields
            if end is block.last_op
            and self.plan.variables.of.get(assigned) is not (variable := self.plan.variables.of[merge.result])
            and (end, variable) not in self._preset
        ]
        yield from self.copies(copies, block.last_op)

    def copies(self, copies: Sequence[Copy], at: Operation) -> Iterator[Line]:
        """Assign at the same time: each before what it reads changes, through a further variable where they swap."""
        pending = [(copy, self._sources(copy.source)) for copy in copies]
        saved: dict[Copy, Expression] = {}
        while pending:
            for index, (copy, _) in enumerate(pending):
                if not any(copy.variable in read for other, (_, read) in enumerate(pending) if other != index):
                    break
            else:
                copy, _ = pending[0]
                value = self.values.of(copy.source)
                ctype = c_type(copy.source.type)
                saved[copy] = c.name(self.values.name(f"next_{self.values.variables[copy.variable]}"), ctype)
                pending[0] = (copy, set())
                yield self.line(f"const {ctype} {saved[copy].text} = {value.text};")
                continue
            del pending[index]
            if copy in saved:
                yield self.assignment(copy.variable, saved[copy], saved[copy].ctype, at)
            else:
                yield self._copied(copy, at)

    def _sources(self, value: SSAValue) -> set[Variable]:
        """The variables that are read by the expression of `value`."""
        found: set[Variable] = set()
        for leaf in self.plan.inlining.leaves(value):
            if (variable := self.plan.variables.of.get(leaf)) is not None:
                found.add(variable)
            elif isinstance(leaf, OpResult) and leaf.op in self.plan.variables.late:
                for read in self.plan.reads.of(leaf.op):
                    found |= self._sources(read.value)
        return found

    # Assignments

    def assignment(self, variable: Variable, expression: Expression, ctype: str, at: Operation) -> Line:
        """Put `expression` into `variable`, which is declared here if this is its first assignment."""
        if variable not in self.values.variables:
            assert variable.is_initialised and variable.declared_at is at
            name = self.values.variables[variable] = self.values.name(self._wanted_name(variable))
            constant = "const " if variable.is_constant else ""
            return self.line(f"{constant}{ctype} {name} = {expression.text};", at)
        return self.line(f"{self.values.variables[variable]} = {expression.text};", at)

    def defined(self, result: SSAValue, text: str, op: Operation) -> Line:
        """Give the variable of `result` the value of `text`."""
        ctype = c_type(result.type, op.location)
        return self.assignment(self.plan.variables.of[result], c.name(text, ctype), ctype, op)

    def pure(self, op: Operation) -> Iterator[Line]:
        """A pure operation with a variable of its own."""
        (result,) = op.results
        variable = self.plan.variables.of.get(result)
        if variable is not None:
            short = self._compound(variable, op)
            yield (
                self.line(short, op)
                if short
                else self.assignment(variable, self.values.computed(op), c_type(result.type), op)
            )

    def _copied(self, copy: Copy, at: Operation) -> Line:
        """One assignment at the end of a block, or at the start of a loop."""
        source = copy.source
        if isinstance(source, OpResult) and source not in self.plan.variables.of and is_expression(source.op):
            short = self._compound(copy.variable, source.op)
            if short:
                return self.line(short, at)
        return self.assignment(copy.variable, self.values.of(source), c_type(source.type), at)

    def _compound(self, variable: Variable, op: Operation) -> str | None:
        """`t *= v;` for `t = t * v;`, if that is what `op` computes."""
        if type(op) not in _COMPOUND or variable not in self.values.variables:
            return None
        if self.plan.reads.is_loop_variable(op.results[0]) or op in self.plan.entry.counts:
            return None
        sign, commutes = _COMPOUND[type(op)]
        a, b = op.operands
        if commutes and self.plan.variables.of.get(a) is not variable:
            a, b = b, a
        if self.plan.variables.of.get(a) is not variable:
            return None
        ctype = c_type(op.results[0].type)
        other = self.values.of(b)
        if not same(of_arithmetic(other.ctype, ctype), of_arithmetic(ctype, ctype)):
            other = other.converted()
        self.values.printed.append(op)
        name = self.values.variables[variable]
        if other.literal == 1 and sign in "+-":
            return f"{name}{sign * 2};"
        return f"{name} {sign}= {other.text};"

    def declarations(self, op: Operation) -> Iterator[Line]:
        """The variables that branches or loops from `op` on assign and that have no value before."""
        for variable in self.plan.variables.declared_before.get(op, ()):
            name = self.values.variables[variable] = self.values.name(self._wanted_name(variable))
            ctype = c_type(variable.values[0].type)
            preset = self._preset_value(variable, op)
            yield self.line(f"{ctype} {name};" if preset is None else f"{ctype} {name} = {preset.text};")

    def _preset_value(self, variable: Variable, op: Operation) -> Expression | None:
        """The constant that the else arm of `op` would put into `variable`: it may as well be there before."""
        for merge in variable.merges:
            if merge.op is op and isinstance(op, scf.IfOp):
                end, assigned = merge.yields[1]
                if self._is_constant(assigned):
                    self._preset.add((end, variable))
                    return self.values.of(assigned)
        return None

    # Names

    def _wanted_name(self, variable: Variable) -> str:
        merges = sorted(variable.merges, key=lambda merge: self._depth(merge.op))
        for merge in merges:
            if merge.result in self.plan.needs.values and (name := source_name(merge.result)):
                return name
            if (
                merge.initial is not None
                and not self._is_constant(merge.initial)
                and (name := self._initial_name(merge))
            ):
                return name
            if merge.carried is not None and (name := source_name(merge.carried)):
                return name
        for value in variable.values:
            if (name := source_name(value)) and not self._says_nothing(value, name):
                return name
        return self._described(variable.values[0])

    def _says_nothing(self, value: SSAValue, name: str) -> bool:
        """Whether `name` is that of the array that `value` is loaded from, or of the operation that computes it."""
        if not isinstance(value, OpResult):
            return False
        if isinstance(value.op, memref.LoadOp):
            return self.values.array(value.op.memref) == name
        return value.op.name.rsplit(".", 1)[-1] == name

    def _initial_name(self, merge: Merge) -> str | None:
        """The name of an initial value that has no variable of its own."""
        if merge.initial is None or self._is_constant(merge.initial):
            return None
        own = self.plan.variables.of.get(merge.initial)
        if own is not None and own is not self.plan.variables.of[merge.result]:
            return None
        if isinstance(merge.initial, BlockArgument) or self.plan.reads.is_field(merge.initial):
            return None
        return source_name(merge.initial)

    @staticmethod
    def _is_constant(value: SSAValue) -> bool:
        return isinstance(value, OpResult) and isinstance(value.op, arith.ConstantOp)

    @staticmethod
    def _depth(op: Operation) -> int:
        depth, parent = 0, op.parent_op()
        while parent is not None:
            depth, parent = depth + 1, parent.parent_op()
        return depth

    def _described(self, value: SSAValue) -> str:
        """A name after what the value is, where the source has none."""
        if not isinstance(value, OpResult):
            return "value"
        if value.op in self.plan.entry.counts:
            return "trips" if isinstance(value.op, arith.MaxSIOp) else "count"
        match value.op:
            case memref.LoadOp():
                return self._element_name(value.op)
            case _ if value.type == i1:
                return "condition"
            case tape.PopOp() | tape.ReplayOp():
                region = self.plan.regions.of(value.op.operands[0])
                return region.fields[value.index].name or region.label
            case _ if type(value.op) in _DESCRIPTIONS:
                return _DESCRIPTIONS[type(value.op)]
            case _:
                return self._call_name(value.op)

    def _call_name(self, op: Operation) -> str:
        """`sin_t` for `sin(t)`."""
        function = op.name.rsplit(".", 1)[-1]
        argument = self.values.of(op.operands[0]).text
        self.values.take_printed()
        return f"{function}_{argument}" if argument.isidentifier() else f"{function}_value"

    def _element_name(self, op: memref.LoadOp) -> str:
        """`x_i` for `x[i]`, `u_im1j` for `u[i - 1][j]`."""
        places: list[str] = []
        for index in op.indices:
            text = self.values.of(index).text
            plain = text.replace(" + ", "p").replace(" - ", "m")
            if not plain.isidentifier() and not plain.isdigit():
                return self.values.array(op.memref) + "_at"
            places.append(plain)
        self.values.take_printed()
        return "_".join((self.values.array(op.memref), "".join(places))).rstrip("_")

    # Statements

    def statement(self, op: Operation) -> Iterator[Line]:
        """The lines of one operation."""
        yield from self.declarations(op)
        values = self.values
        match op:
            case scf.ForOp() | spad.LayerOp():
                yield from self.loop(op)
            case scf.IfOp():
                yield from self.branch(op)
            case memref.LoadOp():
                yield from self.load(op)
            case memref.StoreOp():
                yield self.store(op.value, op.memref, op.indices, op)
            case ad.AccumulateOp():
                yield self.accumulate(op)
            case memref.CopyOp():
                yield from self.copy(op)
            case tape.PushOp():
                yield from self.record(op.tape, [op.value], op)
            case tape.RecordOp():
                yield from self.record(op.region, op.values, op)
            case spad.WriteOp():
                yield from self.record(op.buffer, op.values, op)
            case tape.PopOp() | tape.ReplayOp() | spad.ReadOp():
                yield from self.replay(op)
            case spad.DmaStartOp() | spad.DmaWaitOp() | stream.PushOp() | stream.PrefetchOp() | stream.PopOp():
                yield self.line(f"{self.transfer(op)};", op)
            case stream.CloseOp():
                yield self.line(f"{self.macro('TF_CLOSE', self.plan.regions.of(op.fifo))};", op)
            case spad.FullOp() | spad.EmptyOp() if op not in self.plan.inlining.nested:
                question = "TF_FULL" if isinstance(op, spad.FullOp) else "TF_EMPTY"
                yield self.defined(op.answer, f"{question}({values.regions[self.plan.regions.of(op.buffer)]})", op)
            case _ if is_expression(op) and op not in self.plan.entry.counts:
                yield from self.pure(op)
            case _:
                return

    def load(self, op: memref.LoadOp) -> Iterator[Line]:
        """A load into its variable."""
        array = self.plan.arrays.of(op.memref)
        name = self.values.arrays[array]
        if array.place == "scalar":
            yield self.defined(op.res, name, op)
        else:
            yield self.defined(op.res, f"TF_LOAD({name}, {self.subscript(op.memref, op.indices)})", op)

    def subscript(self, array: SSAValue, indices: Sequence[SSAValue]) -> str:
        """The text of the place of an element."""
        return self.values.subscript(array, indices).text

    def store(self, value: SSAValue, array: SSAValue, indices: Sequence[SSAValue], op: Operation) -> Line:
        """A store."""
        name = self.values.array(array)
        text = self.values.of(value).text
        if self.plan.arrays.of(array).place == "scalar":
            return self.line(f"{name} = {text};", op)
        return self.line(f"TF_STORE({name}, {self.subscript(array, indices)}, {text});", op)

    def accumulate(self, op: ad.AccumulateOp) -> Line:
        """An addition to an element of a shadow."""
        name, text = self.values.array(op.memref), self.values.of(op.value).text
        if self.plan.arrays.of(op.memref).place == "scalar":
            return self.line(f"{name} += {text};", op)
        return self.line(f"TF_ADD({name}, {self.subscript(op.memref, op.indices)}, {text});", op)

    def copy(self, op: memref.CopyOp) -> Iterator[Line]:
        """A copy of a whole array, element by element."""
        source, destination = self.values.array(op.source), self.values.array(op.destination)
        count = self.values.count(self.plan.arrays.of(op.destination))
        with self.values.inner_scope():
            k = self.values.name("k")
            yield self.line(f"for (ptrdiff_t {k} = 0; {k} < {count.text}; {k}++) {{", op)
            self.depth += 1
            outer = self.block
            yield self.step("loop")
            self._count(op)
            self.block = outer
            element = self.values.name(f"{source}_{k}")
            ctype = self.plan.arrays.of(op.source).ctype
            yield self.line(f"const {ctype} {element} = TF_LOAD({source}, {k});")
            yield self.line(f"TF_STORE({destination}, {k}, {element});")
            self.depth -= 1
            yield self.line("}")

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
            yield self.line(f"{self.macro(name, region, f'({self.struct(region)}){{{texts}}}')};", op)
            return
        for tape_name, value in zip(tape_names(self.values, region), fields, strict=True):
            suffix = "_GROW" if region in self.plan.growing else ""
            yield self.line(f"TF_RECORD{suffix}({tape_name}, {self.values.of(value).text});", op)

    def struct(self, region: CRegion) -> str:
        """The C type of a record of `region`."""
        return self.values.structs[region]

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
            yield self.line(f"const {self.struct(region)} {name} = {text};", op)
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

    # Branches

    def branch(self, op: scf.IfOp) -> Iterator[Line]:
        """An if, with what only one arm has to do."""
        condition = self.values.of(op.cond)
        self.values.conditions[op] = condition.text
        printed = self.values.take_printed()
        arms = [self.arm(op, region) for region in range(2)]
        then, otherwise = arms
        if not then and not otherwise:
            # Both arms leave the variable as it is; the condition may have no other reader.
            yield self.line(f"(void){condition.within(c.UNARY)};", op, *printed)
            return
        children = self.plan.needs.block_ops(op)
        if not otherwise and all(isinstance(child, _TRANSFERS) for child in children) and (children or len(then) == 1):
            yield self.line(f"if ({condition.text}) {_one_line(then)}", op, *printed)
            return
        if not then:
            condition, then, otherwise = c.negation(condition), otherwise, then
        yield self.line(f"if ({condition.text}) {{", op, *printed)
        yield from then
        if otherwise:
            yield self.line("} else {")
            yield from otherwise
        yield self.line("}")

    def arm(self, op: scf.IfOp, region: int) -> list[Line]:
        """The lines of an arm."""
        if not op.regions[region].blocks:
            return []
        ops = self.plan.needs.block_ops(op, region)
        outer = self.block
        lines: list[Line] = []
        self.depth += 1
        with self.values.inner_scope():
            if self.has_loop(op):
                lines += self.straight(ops)
            else:
                if self._costs([child for child in ops if not isinstance(child, _TRANSFERS)], 0):
                    lines.append(self._arm_begin())
                for child in ops:
                    if not isinstance(child, _TRANSFERS):
                        self._count(child)
                    lines += self.statement(child)
            lines += self.yielded(op.regions[region].block)
        self.depth -= 1
        self.block = outer
        return lines

    def _arm_begin(self) -> Line:
        line = Line("TF_ARM();", self.depth)
        if self.block is not None:
            self.block = TextBlock(line, "arm", self.block)
            self.text.blocks.append(self.block)
        return line

    # Loops

    def loop(self, op: Loop) -> Iterator[Line]:
        """A counted loop, or the loops of layers."""
        form = self.plan.reads.forms[op]
        copies = [
            Copy(self.plan.variables.of[merge.result], merge.initial)
            for merge in self.plan.needs.merges(op)
            if merge.initial is not None
            and self.plan.variables.of.get(merge.initial) is not self.plan.variables.of[merge.result]
        ]
        yield from self.copies(copies, op)
        header = Header(self, form)
        with self.values.inner_scope():
            self.values.loops[op] = header.variable = self.values.name(self._loop_name(form))
            self.loop_depth += 1
            if isinstance(op, spad.LayerOp):
                yield from self.layers(op, header)
            else:
                yield self.line(f"for ({header.begin}; {header.condition}; {header.next}) {{", op)
                self.depth += 1
                yield from self.body(op)
                self.depth -= 1
                yield self.line("}")
            self.loop_depth -= 1

    def _loop_name(self, form: LoopForm) -> str:
        name = source_name(form.variable)
        if name is None:
            return LOOP_LETTERS[min(self.loop_depth, len(LOOP_LETTERS) - 1)]
        return name

    def layers(self, op: spad.LayerOp, header: Header) -> Iterator[Line]:
        """The loops of a layer: over the tiles, and over what fits each."""
        region = self.plan.regions.of(op.buffer)
        tape_name = self.values.regions[region]
        writes = op.boundary.data is spad.Boundary.FULL
        reach = "TF_REACH_DOWN" if header.form.down else "TF_REACH"
        if header.form.down == writes:
            reach += "_WRITING" if writes else "_READING"
        j = header.variable
        yield self.line(f"for ({header.begin}; {header.condition};) {{  /* layers: a tile of {tape_name} each */", op)
        self.depth += 1
        end = self.values.name(f"{j}_end")
        if not writes:
            yield self.clause(op, f"TF_EMPTY({tape_name})")
        yield self.line(f"const ptrdiff_t {end} = {reach}({tape_name}, {j}, {header.end}, {header.step});")
        yield self.line(f"for (; {j} {'>' if header.form.down else '<'} {end}; {header.next}) {{")
        self.depth += 1
        with self.values.inner_scope():
            yield from self.body(op)
        self.depth -= 1
        yield self.line("}")
        if writes:
            yield self.clause(op, f"TF_FULL({tape_name})")
        self.depth -= 1
        yield self.line("}")

    def clause(self, op: spad.LayerOp, question: str) -> Line:
        """What happens where a layer is cut."""
        self.depth += 1
        lines = [line for child in self.plan.needs.block_ops(op, 1) for line in self.statement(child)]
        self.depth -= 1
        return self.line(f"if ({question}) {_one_line(lines)}")


class Header:
    """The parts of a `for`."""

    def __init__(self, statements: Statements, form: LoopForm):
        self.form = form
        self._values = statements.values
        self.variable = ""
        self._ctype = c_type(form.variable.type)
        self._start = self._values.linear(form.start, self._ctype)
        self._bound = self._values.linear(form.bound, self._ctype)
        step = form.step
        self.step = str(step) if isinstance(step, int) else self._values.of(step).text

    @property
    def begin(self) -> str:
        """`ptrdiff_t i = 0`."""
        return f"{self._ctype} {self.variable} = {self._start.text}"

    @property
    def condition(self) -> str:
        """`i < n`."""
        sign = ">=" if self.form.down else "<"
        return f"{self.variable} {sign} {self._bound.within(c.SHIFT)}"

    @property
    def next(self) -> str:
        """`i++`."""
        sign = "-" if self.form.down else "+"
        return f"{self.variable}{sign}{sign}" if self.step == "1" else f"{self.variable} {sign}= {self.step}"

    @property
    def end(self) -> str:
        """What the variable never reaches within the loop."""
        if not self.form.down:
            return self._bound.text
        return c.add(self._bound, c.integer(-1)).text


def _one_line(lines: Sequence[Line]) -> str:
    texts = " ".join(line.text for line in lines)
    return texts if len(lines) == 1 else f"{{ {texts} }}"


def tape_names(values: Values, region: CRegion) -> list[str]:
    """The C tapes of a region: one, or in `soa` one a field."""
    name = values.regions[region]
    return [f"{name}_{field.name}" for field in region.fields] if region.layout == "soa" else [name]
