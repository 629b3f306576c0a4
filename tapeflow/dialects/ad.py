"""The ad dialect: what is differentiated.

A request asks for the derivative of a function with respect to the arguments and results it marks `active`; the pass
`ad-differentiate` replaces it with the function it names. `ad.accumulate` is the one op of reverse mode that core IR
lacks: it adds to an element of a shadow.

```mlir
ad.vjp @f_grad of @f (const, active) -> (active)
func.func @f(%n: i32, %x: memref<?xf64>) -> f64 { ... }
```

becomes

```mlir
func.func @f_grad(%n: i32, %x: memref<?xf64>, %s_b: f64, %x_b: memref<?xf64>) -> f64 {
  ...
  ad.accumulate %v_b into %x_b[%i] : memref<?xf64>
```

An array that the caller differentiates by and whose final value is no output is marked `input`, one that is only worked
in `scratch`: `ad.vjp @f_grad of @f (const, input, scratch) -> (active)`.

A request that ends with `batch 8` asks for eight derivatives in one run of the primal: of eight cotangents, or along
eight tangents in forward mode.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence, Set
from typing import Any, ClassVar, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ComplexType,
    FlatSymbolRefAttrConstr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Dialect, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParamAttrConstraint,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum


class Activity(StrEnum):
    """Whether an argument or result of a request takes part in the derivative."""

    CONST = "const"
    """Held fixed: no adjoint, no tangent."""

    ACTIVE = "active"
    """Differentiated: a float or an array of floats. Of an array both what it holds at first and what it holds last."""

    INPUT = "input"
    """In reverse mode, an array that is no output: only what it holds at first is differentiated.

    It has a shadow all the same, which holds zeros on entry.
    """

    SCRATCH = "scratch"
    """In reverse mode, an array that is neither: only what is computed in it is differentiated.

    The derivative takes no shadow of it, and makes its own where it needs one.
    """


@irdl_attr_definition
class ActivityAttr(EnumAttribute[Activity], SpacedOpaqueSyntaxAttribute):
    """`const` or `active`."""

    name = "ad.activity"


ActivityArray = ArrayAttr[ActivityAttr]


def can_be_active(type_: Attribute) -> bool:
    """Whether a value of `type_` can have a derivative: a float, a complex number, or an array of these."""
    if isinstance(type_, MemRefType):
        return has_derivative(cast(MemRefType[Attribute], type_).element_type)
    return has_derivative(type_)


def has_derivative(scalar: Attribute) -> bool:
    """Whether scalars of a type have derivatives: floats, and complex numbers as pairs of them."""
    if isinstance(scalar, ComplexType):
        return isinstance(cast("ComplexType[Any]", scalar).element_type, AnyFloat)
    return isinstance(scalar, AnyFloat)


class RequestNamesAFunction(SymbolUserOpInterface):
    """The primal of a request is a function of the module, or one that a request makes; the request fits it."""

    def verify(self, op: Operation) -> None:
        """Check the primal's existence, the number of marks, and that only floats are marked active."""
        assert isinstance(op, DerivativeRequest)
        primal = SymbolTable.lookup_symbol(op, op.primal)
        if isinstance(primal, DerivativeRequest):
            return  # it asks for the function that this one is about, whose signature is not known before
        if not isinstance(primal, func.FuncOp):
            raise VerifyException(
                f"'{op.name}' of @{op.primal.string_value()}: there is no such function in this module"
            )
        if primal.is_declaration:
            raise VerifyException(
                f"'{op.name}' of @{op.primal.string_value()}: the function is only declared, without a body"
            )
        verify_marks(op, primal)


def verify_marks(request: DerivativeRequest, primal: func.FuncOp) -> None:
    """Check that `request` marks each argument and result of `primal`, and only floats as active.

    Raises:
        VerifyException: it does not.
    """
    signature = primal.function_type
    of_arrays = {Activity.INPUT, Activity.SCRATCH} if isinstance(request, VjpOp) else set[Activity]()
    _verify_marks("argument", request.arguments, signature.inputs.data, of_arrays)
    _verify_marks("result", request.results_, signature.outputs.data, set())


def _verify_marks(what: str, marks: ActivityArray, types: Sequence[Attribute], of_arrays: Set[Activity]) -> None:
    if len(marks) != len(types):
        raise VerifyException(f"the primal has {len(types)} {what}s, but {len(marks)} are marked")
    for position, (mark, type_) in enumerate(zip(marks, types, strict=True)):
        if mark.data is not Activity.CONST and not can_be_active(type_):
            raise VerifyException(
                f"{what} {position} is marked {mark.data.value}, but {type_} has no derivative; mark it const"
            )
        if mark.data in (Activity.INPUT, Activity.SCRATCH) and not (
            mark.data in of_arrays and isinstance(type_, MemRefType)
        ):
            raise VerifyException(
                f"{what} {position} is marked {mark.data.value}, which is for arrays that 'ad.vjp' takes; mark it "
                "active"
            )


MOST_MEMBERS = 64
"""The largest batch: each of its members has code of its own, and what compilers take grows faster than that."""


class DerivativeRequest(IRDLOperation, ABC):
    """A request: differentiate `primal`, call the result `sym_name`.

    With a `batch`, for so many cotangents or tangents at once.
    """

    sym_name = prop_def(SymbolNameConstraint())
    primal = prop_def(FlatSymbolRefAttrConstr)
    arguments = prop_def(ActivityArray)
    results_ = prop_def(ActivityArray, prop_name="results")
    batch = opt_prop_def(IntegerAttr.constr(i64))

    traits = traits_def(SymbolOpInterface(), RequestNamesAFunction())

    def __init__(
        self,
        name: str,
        primal: str,
        arguments: Sequence[Activity],
        results: Sequence[Activity],
        batch: int | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "primal": SymbolRefAttr(primal),
                "arguments": ArrayAttr(ActivityAttr(mark) for mark in arguments),
                "results": ArrayAttr(ActivityAttr(mark) for mark in results),
                "batch": None if batch is None else IntegerAttr(batch, i64),
            }
        )

    @property
    def members(self) -> int | None:
        """How many derivatives are asked for at once; None where the request has no batch."""
        return None if self.batch is None else self.batch.value.data

    def verify_(self) -> None:
        """A batch has at least one member, and not too many."""
        if self.members is not None and not 1 <= self.members <= MOST_MEMBERS:
            raise VerifyException(
                f"'{self.name}' with batch {self.members}: a batch has 1 to {MOST_MEMBERS} members, each with code of "
                "its own"
            )

    def print(self, printer: Printer) -> None:
        """Print `@f_grad of @f (const, active) -> (active) batch 8`."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" of ")
        printer.print_attribute(self.primal)
        printer.print_string(" ")
        _print_marks(printer, self.arguments)
        printer.print_string(" -> ")
        _print_marks(printer, self.results_)
        if self.members is not None:
            printer.print_string(f" batch {self.members}")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> DerivativeRequest:
        """Parse `@f_grad of @f (const, active) -> (active)`."""
        name = parser.parse_symbol_name()
        parser.parse_keyword("of")
        primal = parser.parse_symbol_name()
        arguments = _parse_marks(parser)
        parser.parse_punctuation("->")
        results = _parse_marks(parser)
        batch = parser.parse_integer(allow_boolean=False) if parser.parse_optional_keyword("batch") else None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        request = cls(name.data, primal.data, arguments, results, batch)
        if attributes is not None:
            request.attributes |= attributes.data
        return request


def _print_marks(printer: Printer, marks: ActivityArray) -> None:
    with printer.in_parens():
        printer.print_list(marks, lambda mark: printer.print_string(mark.data.value))


def _parse_marks(parser: Parser) -> list[Activity]:
    return parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_str_enum(Activity), " in activity marks"
    )


@irdl_op_definition
class VjpOp(DerivativeRequest):
    """Ask for the reverse-mode derivative (vector-Jacobian product) of `primal`."""

    name = "ad.vjp"


@irdl_op_definition
class JvpOp(DerivativeRequest):
    """Ask for the forward-mode derivative (Jacobian-vector product) of `primal`."""

    name = "ad.jvp"


class RuleFitsItsFunction(SymbolUserOpInterface):
    """The functions of a rule are in the module, and the derivatives fit the signature of what they are of."""

    def verify(self, op: Operation) -> None:
        """Check that all exist, and the signatures of the derivatives."""
        assert isinstance(op, RuleOp)
        if op.vjp is None and op.jvp is None:
            raise VerifyException(f"'ad.rule' of @{op.of.string_value()} names neither a vjp nor a jvp")
        of = _function_of_rule(op, op.of)
        if any(isinstance(type_, MemRefType) for type_ in of.function_type.outputs):
            raise VerifyException(f"'ad.rule' of @{op.of.string_value()}: it returns an array")
        _verify_derivative(
            op,
            op.vjp,
            "the vjp",
            "a seed for each float result and a shadow for each array of floats, and returns an adjoint for each float "
            "argument",
            expected_vjp(of.function_type),
        )
        _verify_derivative(
            op,
            op.jvp,
            "the jvp",
            "a tangent for each float argument and a tangent array for each array of floats, and returns the results "
            "and a tangent for each float one",
            expected_jvp(of.function_type),
        )


def _scalars(types: Sequence[Attribute]) -> list[Attribute]:
    return [type_ for type_ in types if has_derivative(type_)]


def _arrays(types: Sequence[Attribute]) -> list[Attribute]:
    return [type_ for type_ in types if can_be_active(type_) and not has_derivative(type_)]


def expected_vjp(of: FunctionType) -> FunctionType:
    """The type of the vjp that a rule gives a function of type `of`."""
    inputs = of.inputs.data
    return FunctionType.from_lists([*inputs, *_scalars(of.outputs.data), *_arrays(inputs)], _scalars(inputs))


def expected_jvp(of: FunctionType) -> FunctionType:
    """The type of the jvp that a rule gives a function of type `of`."""
    inputs, outputs = of.inputs.data, of.outputs.data
    return FunctionType.from_lists([*inputs, *_scalars(inputs), *_arrays(inputs)], [*outputs, *_scalars(outputs)])


def _verify_derivative(op: RuleOp, name: SymbolRefAttr | None, role: str, what: str, expected: FunctionType) -> None:
    if name is not None and (found := _function_of_rule(op, name).function_type) != expected:
        raise VerifyException(
            f"@{name.string_value()} has type {found}, but as {role} of @{op.of.string_value()} it takes its "
            f"arguments, {what}: {expected}"
        )


def _function_of_rule(op: RuleOp, name: SymbolRefAttr) -> func.FuncOp:
    function = SymbolTable.lookup_symbol(op, name)
    if not isinstance(function, func.FuncOp):
        raise VerifyException(f"'ad.rule' names @{name.string_value()}, but there is no such function in this module")
    return function


@irdl_op_definition
class RuleOp(IRDLOperation):
    """The derivatives of calls of `of` are given by `vjp` and `jvp` instead of being made from its body.

    `ad.rule @g vjp @g_vjp jvp @g_jvp`, either of the two. @g_vjp takes the arguments of @g, a seed for each float
    result and a shadow for each array of floats, and returns an adjoint for each float argument. @g_jvp takes the
    arguments, a tangent for each float and a tangent array for each array of floats, and returns the results and a
    tangent for each float one. @g may be only declared, and so may they.
    """

    name = "ad.rule"

    of = prop_def(FlatSymbolRefAttrConstr)
    vjp = opt_prop_def(FlatSymbolRefAttrConstr)
    jvp = opt_prop_def(FlatSymbolRefAttrConstr)

    traits = traits_def(RuleFitsItsFunction())
    assembly_format = "$of (`vjp` $vjp^)? (`jvp` $jvp^)? attr-dict"

    def __init__(self, of: str, vjp: str | None = None, jvp: str | None = None):
        given = {"of": of, "vjp": vjp, "jvp": jvp}
        super().__init__(properties={key: SymbolRefAttr(name) for key, name in given.items() if name is not None})


class UpdatesMemory(MemoryEffect):
    """The op reads and writes the array among its operands."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        """READ and WRITE on the array."""
        assert isinstance(op, AccumulateOp)
        return {EffectInstance(kind, op.memref) for kind in (MemoryEffectKind.READ, MemoryEffectKind.WRITE)}


@irdl_op_definition
class AccumulateOp(IRDLOperation):
    """Add `value` to one element of the shadow `memref`."""

    name = "ad.accumulate"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    memref = operand_def(ParamAttrConstraint(MemRefType, (AnyAttr(), T, AnyAttr(), AnyAttr())))
    indices = var_operand_def(IndexType)

    traits = traits_def(UpdatesMemory())
    assembly_format = "$value `into` $memref `[` $indices `]` attr-dict `:` type($memref)"

    def __init__(self, value: SSAValue, memref: SSAValue, indices: Sequence[SSAValue]):
        super().__init__(operands=[value, memref, indices])

    def verify_(self) -> None:
        """An index for each dimension, and something that can be added to."""
        rank = cast(MemRefType[Attribute], self.memref.type).get_num_dims()
        if len(self.indices) != rank:
            raise VerifyException(f"the shadow has rank {rank}, but {len(self.indices)} indices are given")
        if not isinstance(self.value.type, AnyFloat):
            raise VerifyException(f"only floats accumulate, not {self.value.type}")


AD = Dialect("ad", [VjpOp, JvpOp, RuleOp, AccumulateOp], [ActivityAttr])
