"""What to call a variable: as the source does, else after what its value is."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.source_names import source_name
from tapeflow.backend.c_expressions import is_expression
from tapeflow.backend.c_loops import LoopForm
from tapeflow.backend.c_plan import Plan
from tapeflow.backend.c_reads import Merge
from tapeflow.backend.c_values import Values
from tapeflow.backend.c_variables import Variable
from tapeflow.dialects import spad, tape

_LOOP_LETTERS = "ijkl"

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
    func.CallOp: "result",
    scf.IfOp: "chosen",
    scf.ForOp: "carried",
    scf.WhileOp: "carried",
    spad.LayerOp: "carried",
}
"""What to call a value that the source has no name for."""


@dataclass
class WantedNames:
    """Names for the variables of one function, not yet unique."""

    plan: Plan
    values: Values

    def of(self, variable: Variable) -> str:
        """A name for `variable`."""
        merges = sorted(variable.merges, key=lambda merge: _depth(merge.op))
        for merge in merges:
            if merge.result in self.plan.needs.values and (name := source_name(merge.result)):
                return name
            if name := self._initial_name(merge):
                return name
            for carried in merge.carried:
                if name := source_name(carried):
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
        if merge.initial is None or is_constant(merge.initial):
            return None
        own = self.plan.variables.of.get(merge.initial)
        if own is not None and own is not self.plan.variables.of[merge.result]:
            return None
        if isinstance(merge.initial, BlockArgument) or self.plan.reads.is_field(merge.initial):
            return None
        return source_name(merge.initial)

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
            case func.CallOp() if is_expression(value.op):
                return self._call_name(value.op)
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

    def of_loop(self, form: LoopForm, depth: int) -> str:
        """A name for the variable of a loop in `depth` others."""
        return source_name(form.variable) or _LOOP_LETTERS[min(depth, len(_LOOP_LETTERS) - 1)]


def is_constant(value: SSAValue) -> bool:
    """Whether `value` is a constant."""
    return isinstance(value, OpResult) and isinstance(value.op, arith.ConstantOp)


def _depth(op: Operation) -> int:
    depth, parent = 0, op.parent_op()
    while parent is not None:
        depth, parent = depth + 1, parent.parent_op()
    return depth
