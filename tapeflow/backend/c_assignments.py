"""Assignments: to a variable where its value is computed, and to several at once where control flow joins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, OpResult, SSAValue

from tapeflow.backend import c_expressions as c
from tapeflow.backend.c_expressions import Expression, is_expression
from tapeflow.backend.c_lines import Lines
from tapeflow.backend.c_plan import Plan
from tapeflow.backend.c_text import Line
from tapeflow.backend.c_types import c_type, of_arithmetic, same
from tapeflow.backend.c_values import Values
from tapeflow.backend.c_variables import Variable
from tapeflow.backend.c_wanted_names import WantedNames, is_constant

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


@dataclass(frozen=True)
class Copy:
    """An assignment that is to happen at the same time as others."""

    variable: Variable
    source: SSAValue


class Assignments:
    """Prints the assignments of one function."""

    def __init__(self, plan: Plan, values: Values, lines: Lines):
        self.plan = plan
        self.values = values
        self.line = lines.line
        self.names = WantedNames(plan, values)
        self._preset: set[tuple[Operation, Variable]] = set()

    def declarations(self, op: Operation) -> Iterator[Line]:
        """The variables that branches or loops from `op` on assign and that have no value before."""
        for variable in self.plan.variables.declared_before.get(op, ()):
            name = self.values.variables[variable] = self.values.name(self.names.of(variable))
            ctype = c_type(variable.values[0].type)
            preset = self._preset_value(variable, op)
            yield self.line(f"{ctype} {name};" if preset is None else f"{ctype} {name} = {preset.text};")

    def _preset_value(self, variable: Variable, op: Operation) -> Expression | None:
        """The constant that the else arm of `op` would put into `variable`: it may as well be there before."""
        for merge in variable.merges:
            if merge.op is op and isinstance(op, scf.IfOp):
                end, assigned = merge.yields[1]
                if is_constant(assigned):
                    self._preset.add((end, variable))
                    return self.values.of(assigned)
        return None

    def assignment(self, variable: Variable, expression: Expression, ctype: str, at: Operation) -> Line:
        """Put `expression` into `variable`, which is declared here if this is its first assignment."""
        if variable not in self.values.variables:
            assert variable.is_initialised and variable.declared_at is at
            name = self.values.variables[variable] = self.values.name(self.names.of(variable))
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

    def initial(self, loop: Operation) -> Iterator[Line]:
        """The assignments in front of a loop, of what it carries."""
        copies = [
            Copy(self.plan.variables.of[merge.result], merge.initial)
            for merge in self.plan.needs.merges(loop)
            if merge.initial is not None
            and self.plan.variables.of.get(merge.initial) is not self.plan.variables.of[merge.result]
        ]
        yield from self.copies(copies, loop)

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

    def _copied(self, copy: Copy, at: Operation) -> Line:
        """One assignment at the end of a block, or at the start of a loop."""
        source = copy.source
        if isinstance(source, OpResult) and source not in self.plan.variables.of and is_expression(source.op):
            short = self._compound(copy.variable, source.op)
            if short:
                return self.line(short, at)
        return self.assignment(copy.variable, self.values.of(source), c_type(source.type), at)

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
