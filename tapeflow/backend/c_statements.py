"""The statements of a function: one memory access a statement, one statement a line; loops as loops.

Every piece of straight code begins with `TF_STEP()` (see `printed.PrintedBlock`): the body of an innermost loop, and
elsewhere what stands between two loops; the body of a loop that sums begins with `TF_STEP_SUM()` (see `c_sums`). An arm
of a branch without loops begins with `TF_ARM()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from xdsl.dialects import arith, func, memref, scf
from xdsl.ir import Operation

from tapeflow.analysis.loops import condition_of
from tapeflow.backend import c_expressions as c
from tapeflow.backend.c_accesses import TRANSFERS, Accesses
from tapeflow.backend.c_assignments import Assignments
from tapeflow.backend.c_expressions import is_expression
from tapeflow.backend.c_lines import Lines
from tapeflow.backend.c_loops import Loop, LoopForm
from tapeflow.backend.c_plan import Plan
from tapeflow.backend.c_sums import sums_in_order
from tapeflow.backend.c_text import Line, Text, TextBlock
from tapeflow.backend.c_types import c_type
from tapeflow.backend.c_values import Values
from tapeflow.dialects import spad, stream

_SILENT = (
    arith.ConstantOp,
    memref.AllocOp,
    memref.AllocaOp,
    memref.GetGlobalOp,
    memref.DeallocOp,
    memref.DimOp,
    memref.CastOp,
    memref.SubviewOp,
    func.ReturnOp,
    stream.CloseOp,
)
"""What takes no time on any machine."""


class Statements:
    """Prints the body of one function."""

    def __init__(self, plan: Plan, values: Values, text: Text):
        self.plan = plan
        self.values = values
        self.text = text
        self.lines = Lines(text, values)
        self.line = self.lines.line
        self.assignments = Assignments(plan, values, self.lines)
        self.accesses = Accesses(plan, values, self.lines, self.assignments)
        self.block: TextBlock | None = None
        self._loops_around = 0
        self._loops_in: dict[Operation, bool] = {}

    # Blocks

    def step(self, kind: Literal["loop", "segment"], *, sums: bool = False) -> Line:
        """`TF_STEP();`, the begin of a block of straight code; of one that `sums` in order, `TF_STEP_SUM();`."""
        line = self.line("TF_STEP_SUM();" if sums else "TF_STEP();")
        self.block = TextBlock(line, kind, None)
        self.text.blocks.append(self.block)
        return line

    def has_loop(self, op: Operation) -> bool:
        """Whether a loop runs in `op`, or is `op`."""
        if op not in self._loops_in:
            self._loops_in[op] = isinstance(op, scf.ForOp | scf.WhileOp | spad.LayerOp | memref.CopyOp) or any(
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
        """Whether anything that takes time is done from `begin` on up to the next loop."""
        for op in ops[begin:]:
            if self.has_loop(op):
                return False
            if not isinstance(op, _SILENT) and not self.plan.inlining.is_free(op):
                return True
        return False

    def _count(self, op: Operation) -> None:
        if self.block is not None and not isinstance(op, _SILENT):
            self.block.ops.append(op)

    def body(self, loop: Operation, asked: Sequence[Operation] = ()) -> Iterator[Line]:
        """The body of a loop: its operations, then what it hands to the next iteration.

        Args:
            loop: whose body it is.
            asked: the operations of the condition in the header of a while, which take their time in the body.
        """
        region = 1 if isinstance(loop, scf.WhileOp) else 0
        ops = self.plan.needs.block_ops(loop, region)
        outer = self.block
        first = next((index for index, op in enumerate(ops) if self.has_loop(op)), len(ops))
        yield self.step("segment" if first < len(ops) else "loop", sums=sums_in_order(loop))
        for op in asked:
            self._count(op)
        for op in ops[:first]:
            self._count(op)
            yield from self.statement(op)
        yield from self.straight(ops[first:])
        yield from self.assignments.yielded(loop.regions[region].block)
        self.block = outer

    # Statements

    def statement(self, op: Operation) -> Iterator[Line]:
        """The lines of one operation."""
        yield from self.assignments.declarations(op)
        match op:
            case scf.ForOp() | spad.LayerOp():
                yield from self.loop(op)
            case scf.WhileOp():
                yield from self.repetition(op)
            case scf.IfOp():
                yield from self.branch(op)
            case memref.CopyOp():
                yield from self.copy(op)
            case _ if is_expression(op):
                if op not in self.plan.entry.counts:
                    yield from self.assignments.pure(op)
            case _:
                yield from self.accesses.access(op)

    def copy(self, op: memref.CopyOp) -> Iterator[Line]:
        """A copy of a whole array, element by element."""
        source, destination = self.values.array(op.source), self.values.array(op.destination)
        count = self.values.count(self.plan.arrays.of(op.destination))
        outer = self.block
        with self.values.inner_scope():
            k = self.values.name("k")
            yield self.line(f"for (ptrdiff_t {k} = 0; {k} < {count.text}; {k}++) {{", op)
            with self.lines.deeper():
                yield self.step("loop")
                self._count(op)
                element = self.values.name(f"{source}_{k}")
                yield self.line(f"const {self.plan.arrays.of(op.source).ctype} {element} = TF_LOAD({source}, {k});")
                yield self.line(f"TF_STORE({destination}, {k}, {element});")
            yield self.line("}")
        self.block = outer

    # Branches

    def branch(self, op: scf.IfOp) -> Iterator[Line]:
        """An if, with what only one arm has to do."""
        condition = self.values.of(op.cond)
        self.values.conditions[op] = condition.text
        printed = self.values.take_printed()
        then, otherwise = self.arm(op, 0), self.arm(op, 1)
        children = self.plan.needs.block_ops(op)
        if not then and not otherwise:
            # Both arms leave the variable as it is; the condition may have no other reader.
            yield self.line(f"(void){condition.within(c.UNARY)};", op, *printed)
        elif not otherwise and _fits_a_line(children, then):
            yield self.line(f"if ({condition.text}) {_one_line(then)}", op, *printed)
        else:
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
        with self.lines.deeper():
            lines = list(self.straight(ops) if self.has_loop(op) else self._straight_arm(ops))
            lines += self.assignments.yielded(op.regions[region].block)
        self.block = outer
        return lines

    def _straight_arm(self, ops: Sequence[Operation]) -> Iterator[Line]:
        """An arm without loops: a block of its own, unless it only moves tiles."""
        if self._costs([op for op in ops if not isinstance(op, TRANSFERS)], 0):
            line = self.line("TF_ARM();")
            self.block = TextBlock(line, "arm", self.block)
            self.text.blocks.append(self.block)
            yield line
        for op in ops:
            if not isinstance(op, TRANSFERS):
                self._count(op)
            yield from self.statement(op)

    # Loops

    def loop(self, op: Loop) -> Iterator[Line]:
        """A counted loop, or the loops of layers."""
        form = self.plan.reads.forms[op]
        yield from self.assignments.initial(op)
        header = Header(self.values, form)
        with self.values.inner_scope():
            wanted = self.assignments.names.of_loop(form, self._loops_around)
            self.values.loops[op] = header.variable = self.values.name(wanted)
            self._loops_around += 1
            if isinstance(op, spad.LayerOp):
                yield from self.layers(op, header)
            else:
                yield self.line(f"for ({header.begin}; {header.condition}; {header.next}) {{", op)
                with self.lines.deeper():
                    yield from self.body(op)
                yield self.line("}")
            self._loops_around -= 1

    def repetition(self, op: scf.WhileOp) -> Iterator[Line]:
        """A loop with a condition: `while` where that is an expression, else one that is left in its middle."""
        yield from self.assignments.initial(op)
        condition, outer = condition_of(op), self.block
        asks = self.plan.needs.block_ops(op)
        if any(not isinstance(inner, arith.ConstantOp) and self._is_stated(inner) for inner in asks):
            yield from self._left_in_the_middle(op, condition, asks)
        else:
            tested = self.values.of(condition.condition)
            yield self.line(f"while ({tested.text}) {{", op, *self.values.take_printed())
            with self.values.inner_scope(), self.lines.deeper():
                self._loops_around += 1
                yield from self.body(op, asks)
                self._loops_around -= 1
            yield self.line("}")
        self.block = outer

    def _is_stated(self, op: Operation) -> bool:
        """Whether `op` has a statement, or several, of its own."""
        return not self.plan.inlining.is_free(op) and op not in self.plan.inlining.nested

    def _left_in_the_middle(
        self, op: scf.WhileOp, condition: scf.ConditionOp, asks: Sequence[Operation]
    ) -> Iterator[Line]:
        yield self.line("for (;;) {", op)
        with self.values.inner_scope(), self.lines.deeper():
            self._loops_around += 1
            ops = self.plan.needs.block_ops(op, 1)
            loops = [inner for inner in (*asks, *ops) if self.has_loop(inner)]
            if not loops:
                yield self.step("loop")
            yield from self._interrupted(asks, bool(loops))
            tested = c.negation(self.values.of(condition.condition))
            yield self.line(f"if ({tested.text}) break;", condition, *self.values.take_printed())
            yield from self._interrupted(ops, bool(loops))
            yield from self.assignments.yielded(op.after_region.block)
            self._loops_around -= 1
        yield self.line("}")

    def _interrupted(self, ops: Sequence[Operation], has_loops: bool) -> Iterator[Line]:
        """The statements of `ops`, in the loop's one block or, if loops interrupt it, in blocks of their own."""
        if has_loops:
            yield from self.straight(ops)
            return
        for op in ops:
            self._count(op)
            yield from self.statement(op)

    def layers(self, op: spad.LayerOp, header: Header) -> Iterator[Line]:
        """The loops of a layer: over the tiles, and over what fits each."""
        tape_name = self.values.regions[self.plan.regions.of(op.buffer)]
        writes = op.boundary.data is spad.Boundary.FULL
        j, sign = header.variable, ">" if header.form.down else "<"
        yield self.line(f"for ({header.begin}; {header.condition};) {{  /* layers: a tile of {tape_name} each */", op)
        with self.lines.deeper():
            if not writes:
                yield self.clause(op, f"TF_EMPTY({tape_name})")
            end, reach = self.values.name(f"{j}_end"), _reach(header.form.down, writes)
            yield self.line(f"const ptrdiff_t {end} = {reach}({tape_name}, {j}, {header.end}, {header.step});")
            yield self.line(f"for (; {j} {sign} {end}; {header.next}) {{")
            with self.lines.deeper():
                yield from self.body(op)
            yield self.line("}")
            if writes:
                yield self.clause(op, f"TF_FULL({tape_name})")
        yield self.line("}")

    def clause(self, op: spad.LayerOp, question: str) -> Line:
        """What happens where a layer is cut."""
        lines = [line for child in self.plan.needs.block_ops(op, 1) for line in self.statement(child)]
        return self.line(f"if ({question}) {_one_line(lines)}")


def _fits_a_line(ops: Sequence[Operation], lines: Sequence[Line]) -> bool:
    """Whether an arm may stand behind its condition: it moves tiles, or assigns one variable."""
    return all(isinstance(op, TRANSFERS) for op in ops) if ops else len(lines) == 1


def _reach(down: bool, writes: bool) -> str:
    """The macro that tells how far a loop may go in a tile; the usual directions have the short names."""
    if down:
        return "TF_REACH_DOWN_WRITING" if writes else "TF_REACH_DOWN"
    return "TF_REACH" if writes else "TF_REACH_READING"


class Header:
    """The parts of a `for`."""

    def __init__(self, values: Values, form: LoopForm):
        self.form = form
        self.variable = ""
        self._ctype = c_type(form.variable.type)
        self._start = values.linear(form.start, self._ctype)
        self._bound = values.linear(form.bound, self._ctype)
        self.step = str(form.step) if isinstance(form.step, int) else values.of(form.step).text

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
