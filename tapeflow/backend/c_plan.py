"""Everything that is decided about a function before its C is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref, scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.loops import is_normal
from tapeflow.analysis.parameters import parameter_name
from tapeflow.backend.c_arrays import Arrays, CArray, ExtentParameter
from tapeflow.backend.c_calls import Callees
from tapeflow.backend.c_expressions import is_expression
from tapeflow.backend.c_inlining import Inlining
from tapeflow.backend.c_needs import Needs
from tapeflow.backend.c_reads import Reads
from tapeflow.backend.c_regions import CRegion, Regions
from tapeflow.backend.c_variables import Variables
from tapeflow.dialects import ad, spad, stream, tape
from tapeflow.errors import TapeflowError

_PRINTED = (
    func.FuncOp, func.ReturnOp, scf.ForOp, scf.WhileOp, scf.ConditionOp, scf.IfOp, scf.YieldOp,
    memref.LoadOp, memref.StoreOp, memref.AllocOp, memref.AllocaOp, memref.DeallocOp, memref.DimOp, memref.CastOp,
    memref.SubviewOp, memref.CopyOp, memref.GetGlobalOp, ad.AccumulateOp,
    tape.CreateOp, tape.PushOp, tape.PopOp, tape.RecordOp, tape.ReplayOp,
    spad.AllocOp, spad.WriteOp, spad.ReadOp, spad.FullOp, spad.EmptyOp, spad.LayerOp, spad.YieldOp, spad.DmaStartOp,
    spad.DmaWaitOp, stream.CreateOp, stream.PushOp, stream.PrefetchOp, stream.PopOp, stream.CloseOp,
)  # fmt: skip

_REMEDIES = {
    "func.call": "inline calls first, with the pass ad-prepare",
    "ad.vjp": "run ad-differentiate first",
    "ad.jvp": "run ad-differentiate first",
}


def check_printable(function: func.FuncOp, callees: Callees) -> None:
    """Refuse a function with an operation that has no C, or a call of something that is not among `callees`.

    Raises:
        TapeflowError: points at the operation and says what to do.
    """
    for op in function.walk():
        if not isinstance(op, _PRINTED) and not is_expression(op) and callees.of(op) is None:
            raise TapeflowError(
                f"'{op.name}' cannot be printed as C",
                location=op.location,
                hint=_REMEDIES.get(
                    op.name, "lower it to func, scf.for, scf.while, scf.if, memref, arith and math first"
                ),
            )

        if isinstance(op, scf.WhileOp) and not is_normal(op):
            raise TapeflowError(
                "a while is printed once its test only asks and hands on what it is given",
                location=op.location,
                hint="run ad-prepare first",
            )


@dataclass(frozen=True)
class Entry:
    """What happens once, before the function's own code.

    Attributes:
        ops: pure operations that sizes are computed by, in order.
        counts: those that a byte count is computed by, which saturate rather than overflow.
    """

    ops: tuple[Operation, ...]
    counts: frozenset[Operation]


class Plan:
    """The decisions about one function, each kind in its own object."""

    def __init__(self, function: func.FuncOp, callees: Callees | None = None, asked: Iterable[ExtentParameter] = ()):
        self.callees = callees or Callees()
        check_printable(function, self.callees)
        self.function = function
        self.arrays = Arrays(function, asked)
        self.regions = Regions(function)
        self.reads = Reads(function, self.arrays, self.regions)
        self.needs = Needs(self.reads)
        self.inlining = Inlining(self.reads, self.needs)
        self.variables = Variables(self.reads, self.needs, self.inlining)
        self.growing = {region for region in self.regions.all if not self._is_reserved(region)}
        self.entry = self._entry()
        self.reverse_start = reverse_start(self)
        self.failure = "return;"
        """How the function ends when there is no memory."""

    @property
    def locals(self) -> list[CArray]:
        """The local arrays and tables that are used, in order."""
        return [array for array in self.arrays.locals if array.root.owner in self.needs.ops]

    def _is_reserved(self, region: CRegion) -> bool:
        if region.home is None:
            return not region.handed
        return region.reserve is not None and size_ops(self, region.reserve) is not None

    def _entry(self) -> Entry:
        counts: set[Operation] = set()
        for region in self.regions.all:
            if region.reserve is not None and region not in self.growing:
                counts |= size_ops(self, region.reserve) or set()
        for array in self.locals:
            for extent in array.extents:
                if isinstance(extent, SSAValue):
                    found = size_ops(self, extent)
                    if found is None:
                        raise TapeflowError(
                            "the size of this local array is not known when the function is entered",
                            location=array.root.owner.location if isinstance(array.root.owner, Operation) else None,
                            hint="compute it from the parameters and the counters of loops without 'break'",
                        )
                    counts |= found
        ops = tuple(op for op in self.function.body.block.ops if op in counts)
        return Entry(ops, frozenset(counts))


def size_ops(plan: Plan, size: SSAValue) -> set[Operation] | None:
    """The operations that compute `size` from the parameters; None if others go into it."""
    found: set[Operation] = set()
    pending = [size]
    while pending:
        value = pending.pop()
        if isinstance(value, BlockArgument):
            if not isinstance(value.owner.parent_op(), func.FuncOp):
                return None
            continue
        assert isinstance(value, OpResult)
        if isinstance(value.op, memref.DimOp):
            extent = plan.arrays.extent(value.op)
            pending += [extent] if isinstance(extent, SSAValue) else []
        elif not isinstance(value.op, arith.ConstantOp) and not (
            is_expression(value.op) and value.op.parent is plan.function.body.block
        ):
            return None
        if value.op not in found:
            found.add(value.op)
            pending += [] if isinstance(value.op, memref.DimOp) else value.op.operands
    return found


def reverse_start(plan: Plan) -> Operation | None:
    """The first operation of the function's top block that belongs to the reverse sweep; None if there is none.

    That is one that takes something off a tape, touches a shadow, or computes with a seed.
    """
    if "tapeflow.gradient_of" not in plan.function.attributes:
        return None
    adjoints: set[SSAValue] = {argument for argument in plan.function.args if parameter_name(argument).endswith("_b")}
    shadows = {plan.arrays.of(op.memref) for op in plan.function.walk() if isinstance(op, ad.AccumulateOp)}

    def is_reverse(op: Operation) -> bool:
        match op:
            case tape.PopOp() | tape.ReplayOp() | spad.ReadOp() | ad.AccumulateOp():
                return True
            case memref.LoadOp() | memref.StoreOp() if plan.arrays.of(op.memref) in shadows:
                return True
            case _:
                return any(operand in adjoints for operand in op.operands)

    for op in plan.needs.block_ops(plan.function):
        if not isinstance(op, func.ReturnOp) and any(is_reverse(inner) for inner in op.walk()):
            return op
    return None


def parameter_names(function: func.FuncOp) -> list[str]:
    """What the source calls the arguments."""
    return [parameter_name(argument) for argument in function.args]


def extra_parameters(plan: Plan, argument: BlockArgument) -> list[ExtentParameter]:
    """The extents that C must be told behind an array argument."""
    mine = [extra for extra in plan.arrays.extra if extra.argument is argument]
    return sorted(mine, key=lambda extra: extra.dimension)
