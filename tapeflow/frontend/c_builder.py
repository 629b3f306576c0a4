"""Makes core IR for one function: places operations, stamps locations and names, converts between C's types.

Values whose number is known while importing stay numbers until an operation needs them; constants then stand once at
the top of the function. Subscripts and bounds are computed in `index`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects import arith, complex, scf
from xdsl.dialects.builtin import (
    ComplexType,
    IndexType,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.frontend.c_constants import fold_binary
from tapeflow.frontend.c_types import BOOL, LONG, Number, Scalar, convert_number, wrapped
from tapeflow.frontend.clang_tree import Node
from tapeflow.frontend.function_top import DEEPEST_NESTING, NESTED_TOO_DEEP, FunctionTop, constant

INDEX = IndexType()

Index: TypeAlias = int | SSAValue
"""A value of type `index`: a number known while importing, or an SSA value."""


@dataclass(frozen=True)
class Value:
    """The value of a C expression.

    Attributes:
        type: its C type. Comparisons give `bool` here, where C gives an `int` that is 0 or 1.
        now: the number, where it is known while importing, else the SSA value.
    """

    type: Scalar
    now: Number | SSAValue

    @property
    def number(self) -> Number | None:
        """The number, None where it is only known at run time."""
        return None if isinstance(self.now, SSAValue) else self.now


def _integer_operation(operator: str, signed: bool) -> type[arith.SignlessIntegerBinaryOperation] | None:
    match operator:
        case "/":
            return arith.DivSIOp if signed else arith.DivUIOp
        case "%":
            return arith.RemSIOp if signed else arith.RemUIOp
        case ">>":
            return arith.ShRSIOp if signed else arith.ShRUIOp
        case _:
            return _INTEGER_OPERATIONS.get(operator)


_INTEGER_OPERATIONS: dict[str, type[arith.SignlessIntegerBinaryOperation]] = {
    "+": arith.AddiOp,
    "-": arith.SubiOp,
    "*": arith.MuliOp,
    "&": arith.AndIOp,
    "|": arith.OrIOp,
    "^": arith.XOrIOp,
    "<<": arith.ShLIOp,
}
_FLOAT_OPERATIONS: dict[str, type[arith.FloatingPointLikeBinaryOperation]] = {
    "+": arith.AddfOp,
    "-": arith.SubfOp,
    "*": arith.MulfOp,
    "/": arith.DivfOp,
}
# NaN is unequal to everything, so `!=` is the one unordered comparison.
_FLOAT_COMPARISONS = {"<": "olt", ">": "ogt", "<=": "ole", ">=": "oge", "==": "oeq", "!=": "une"}
_SIGNED_COMPARISONS = {"<": "slt", ">": "sgt", "<=": "sle", ">=": "sge", "==": "eq", "!=": "ne"}
_UNSIGNED_COMPARISONS = {"<": "ult", ">": "ugt", "<=": "ule", ">=": "uge", "==": "eq", "!=": "ne"}

COMPARISONS = frozenset(_FLOAT_COMPARISONS)


class IRBuilder:
    """Appends operations to the current block of one function.

    Args:
        entry: the function's entry block, where constants stand.
    """

    def __init__(self, entry: Block):
        self.block = entry
        self._entry = entry
        self._top = FunctionTop(entry)
        self._constants: dict[tuple[Attribute, str], SSAValue] = {}
        self._depth = 0

    def add(self, op: Operation, node: Node, name: str | None = None) -> Operation:
        """Append `op`, which comes from `node`; its result is called `name`."""
        self.block.add_op(op)
        _stamp(op, node, name)
        return op

    def compute(self, op: Operation, node: Node, name: str | None = None) -> SSAValue:
        """Append `op`, and return its one result."""
        return self.add(op, node, name).results[0]

    def after(self, value: SSAValue, op: Operation, node: Node, hint: str) -> SSAValue:
        """Insert `op` where `value` is defined, so that it holds wherever `value` does."""
        if isinstance(value, OpResult):
            point = InsertPoint.after(value.op)
        else:
            assert isinstance(value, BlockArgument)
            point = self._top.end if value.block is self._entry else InsertPoint.at_start(value.block)
        Rewriter.insert_op(op, point)
        _stamp(op, node, None)
        suggest_name(op.results[0], hint)
        return op.results[0]

    def name(self, value: Value, name: str, made_after: Operation | None) -> None:
        """Call the value of an expression `name`, if the operation that makes it was appended after `made_after`."""
        if not isinstance(value.now, OpResult):
            return
        op = value.now.op
        if op.parent is self.block and op is self.block.last_op is not made_after and len(op.results) == 1:
            if not isinstance(op.location, NameLoc):
                op.location = NameLoc(StringAttr(name), op.location)
            suggest_name(value.now, name)

    @contextmanager
    def inside(self, block: Block, node: Node) -> Generator[None]:
        """Append to `block`, the body of an operation that comes from `node`, for a while.

        Raises:
            TapeflowError: when blocks nest too deep.
        """
        if self._depth == DEEPEST_NESTING:
            raise node.error(*NESTED_TOO_DEEP)
        outer, self.block = self.block, block
        self._depth += 1
        try:
            yield
        finally:
            self.block = outer
            self._depth -= 1

    # Constants.

    def constant(self, number: Number, ir: Attribute, node: Node, imaginary: float = 0.0) -> SSAValue:
        """The constant `number` of the type `ir`, of a complex one the real part, at the top of the function."""
        key = (ir, repr((number, imaginary)))
        if (known := self._constants.get(key)) is not None:
            return known
        op = constant(number, imaginary, ir)
        self._top.add(op)
        _stamp(op, node, None)
        (result,) = op.results
        result.name_hint = _constant_hint(number, ir)
        self._constants[key] = result
        return result

    def ssa(self, value: Value, node: Node) -> SSAValue:
        """`value` as an SSA value."""
        return value.now if isinstance(value.now, SSAValue) else self.constant(value.now, value.type.ir, node)

    def index_ssa(self, index: Index, node: Node) -> SSAValue:
        """`index` as an SSA value."""
        return index if isinstance(index, SSAValue) else self.constant(index, INDEX, node)

    # Conversions.

    def convert(self, value: Value, to: Scalar, node: Node) -> Value:
        """`value` converted to the type `to`, as C does."""
        if value.type == to:
            return value
        if value.number is not None and (number := convert_number(value.number, to)) is not None:
            return Value(to, number)
        return Value(to, self._converted(self.ssa(value, node), value.type, to, node))

    def _converted(self, ssa: SSAValue, source: Scalar, to: Scalar, node: Node) -> SSAValue:
        if to is BOOL:
            return self.compare("!=", Value(source, ssa), Value(source, 0 if source.is_integer else 0.0), node)
        if to.is_complex:
            value = Value(source, ssa)
            real, imaginary = (self.convert(part, to.part, node) for part in self.parts(value, node))
            return self.ssa(self.complex(real, imaginary, to, node), node)
        if source.is_complex:
            real = self.real_part(Value(source, ssa), node)
            return self.ssa(self.convert(real, to, node), node)
        if source.is_float:
            if to.is_float:
                op = arith.ExtFOp(ssa, to.float) if to.width > source.width else arith.TruncFOp(ssa, to.float)
            else:
                op = arith.FPToSIOp(ssa, to.integer) if to.signed else arith.FPToUIOp(ssa, to.integer)
        elif to.is_float:
            op = arith.SIToFPOp(ssa, to.float) if source.signed else arith.UIToFPOp(ssa, to.float)
        elif to.width > source.width:
            op = arith.ExtSIOp(ssa, to.integer) if source.signed else arith.ExtUIOp(ssa, to.integer)
        elif to.width < source.width:
            op = arith.TruncIOp(ssa, to.integer)
        else:
            return ssa
        return self.compute(op, node)

    # Complex numbers.

    def real_part(self, value: Value, node: Node) -> Value:
        """The real part of a number."""
        if not value.type.is_complex or value.number is not None:
            return Value(value.type.part, value.now)
        return Value(value.type.part, self.compute(complex.ReOp(self.ssa(value, node)), node))

    def imaginary_part(self, value: Value, node: Node) -> Value:
        """The imaginary part of a number, zero of one that is not complex."""
        if not value.type.is_complex or value.number is not None:
            return Value(value.type.part, 0 if value.type.is_integer else 0.0)
        return Value(value.type.part, self.compute(complex.ImOp(self.ssa(value, node)), node))

    def parts(self, value: Value, node: Node) -> tuple[Value, Value]:
        """The real and the imaginary part of a number."""
        return self.real_part(value, node), self.imaginary_part(value, node)

    def complex(self, real: Value, imaginary: Value, to: Scalar, node: Node) -> Value:
        """The number of the complex type `to` that has these parts, of the type of its parts."""
        parts = self.ssa(real, node), self.ssa(imaginary, node)
        return Value(to, self.compute(complex.CreateOp(*parts, cast(ComplexType, to.ir)), node))

    def index_of(self, value: Value, node: Node) -> Index:
        """The integer `value` as an `index`."""
        if value.number is not None:
            return wrapped(int(value.number), LONG)
        return self.compute(self.index_cast(value, node), node)

    def index_cast(self, value: Value, node: Node) -> Operation:
        """The operation, not yet placed, that makes an `index` of an integer value known at run time only."""
        if value.type.is_extended_by_zeros:
            # arith.index_cast extends the sign.
            value = self.convert(value, LONG, node)
        return arith.IndexCastOp(self.ssa(value, node), INDEX)

    def from_index(self, index: Index, scalar: Scalar, node: Node) -> Value:
        """The `index` as a value of the integer type `scalar`, which holds it."""
        if not isinstance(index, SSAValue):
            number = convert_number(index, scalar)
            assert number is not None
            return Value(scalar, number)
        return Value(scalar, self.compute(arith.IndexCastOp(index, scalar.ir), node))

    # Arithmetic.

    def binary(self, operator: str, left: Value, right: Value, node: Node) -> Value | None:
        """`left operator right`, both of one type; None if the type has no such operation."""
        scalar = left.type
        if scalar.is_float:
            operation = _FLOAT_OPERATIONS.get(operator)
        else:
            if isinstance(left.number, int) and isinstance(right.number, int):
                folded = fold_binary(operator, left.number, right.number, scalar)
                if folded is not None:
                    return Value(scalar, folded)
            operation = _integer_operation(operator, scalar.signed)
        if operation is None:
            return None
        return Value(scalar, self.compute(operation(self.ssa(left, node), self.ssa(right, node)), node))

    def compare(self, operator: str, left: Value, right: Value, node: Node) -> SSAValue:
        """`left operator right`, both of one type, as an i1."""
        operands = self.ssa(left, node), self.ssa(right, node)
        if left.type.is_complex:
            equality = complex.EqualOp if operator == "==" else complex.NotEqualOp
            return self.compute(equality(*operands), node)
        if left.type.is_float:
            return self.compute(arith.CmpfOp(*operands, _FLOAT_COMPARISONS[operator]), node)
        predicates = _SIGNED_COMPARISONS if left.type.signed else _UNSIGNED_COMPARISONS
        return self.compute(arith.CmpiOp(*operands, predicates[operator]), node)

    def compare_indices(self, operator: str, left: Index, right: Index, signed: bool, node: Node) -> SSAValue:
        """`left operator right`, as an i1."""
        predicates = _SIGNED_COMPARISONS if signed else _UNSIGNED_COMPARISONS
        operands = self.index_ssa(left, node), self.index_ssa(right, node)
        return self.compute(arith.CmpiOp(*operands, predicates[operator]), node)

    def index_binary(self, operator: str, left: Index, right: Index, signed: bool, node: Node) -> Index:
        """`left operator right` for `+ - * / %`, in `index`."""
        if isinstance(left, int) and isinstance(right, int) and (signed or min(left, right) >= 0):
            folded = fold_binary(operator, left, right, LONG)
            if folded is not None:
                return folded
        if operator in ("+", "-") and isinstance(right, int) and right < 0:
            operator, right = "-" if operator == "+" else "+", -right
        if right == 0 and operator in ("+", "-"):
            return left
        if left == 0 and operator == "+":
            return right
        if right == 1 and operator in ("*", "/"):
            return left
        operation = _integer_operation(operator, signed)
        assert operation is not None
        return self.compute(operation(self.index_ssa(left, node), self.index_ssa(right, node)), node)

    def index_maximum(self, left: Index, right: Index, node: Node) -> Index:
        """The greater of two, as signed numbers."""
        if isinstance(left, int) and isinstance(right, int):
            return max(left, right)
        return self.compute(arith.MaxSIOp(self.index_ssa(left, node), self.index_ssa(right, node)), node)

    # Branches.

    def branch(
        self,
        condition: Value,
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]] | None,
        types: Sequence[Attribute],
        node: Node,
    ) -> Sequence[SSAValue]:
        """An `scf.if` whose arms are made by `then` and `otherwise`, which return what they yield, of the `types`."""
        truth = self.ssa(condition, node)
        first, second = (self.arm(make, node) if make is not None else Region() for make in (then, otherwise))
        return self.add(scf.IfOp(truth, types, first, second), node).results

    def arm(self, make: Callable[[], Sequence[SSAValue]], node: Node) -> Region:
        """A region of one block made by `make`, which returns what the block yields."""
        block = Block()
        with self.inside(block, node):
            self.add(scf.YieldOp(*make()), node)
        return Region(block)


def _stamp(op: Operation, node: Node, name: str | None) -> None:
    op.location = node.location if name is None else node.named_location(name)
    if name is not None and op.results:
        suggest_name(op.results[0], name)


def suggest_name(value: SSAValue, name: str) -> None:
    """Let `value` print as `name`, if MLIR takes it; C's identifiers may have letters that MLIR's may not."""
    value.name_hint = name if SSAValue.is_valid_name(name) else None


def _constant_hint(number: Number, ir: Attribute) -> str:
    if isinstance(number, float):
        return "cst"
    if ir == BOOL.ir:
        return "true" if number else "false"
    digits = f"c{number}" if number >= 0 else f"cm{-number}"
    return digits if isinstance(ir, IndexType) else f"{digits}_{ir}"
