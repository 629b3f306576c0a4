"""Lower the operations of `arith` and `math` that core IR lacks to those that it has, and to functions of C's library.

Integer operations become those that C has: the high half of a product is one of twice the width, and bits are counted
by halves. `arith.remf` is C's `fmod`, `math.erfc` its `erfc`; a module that defines a function of that name itself
cannot have the library's, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import AnyFloat, Float32Type, FloatAttr, IndexType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.library_functions import library_call
from tapeflow.analysis.source_names import source_name
from tapeflow.dialects import arith_more, math_more
from tapeflow.errors import TapeflowError
from tapeflow.transforms.integer_formulas import INTEGER_FORMULAS
from tapeflow.transforms.located_builder import LocatedBuilder, place_of


def lower_arithmetic(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> None:
    """Replace the operations of `arith_more` and `math_more` in `function`; `functions` are those of the module.

    Raises:
        TapeflowError: one is a function of C's library whose name the module gives to another.
    """
    for op in list(function.body.walk()):
        build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
        match op:
            case arith_more.RemFOp():
                check_library_name("fmod", op, functions)
                _replace(op, build.value(library_call("fmod", op.lhs, op.rhs)))
            case arith_more.IndexCastUIOp():
                _replace(op, _unsigned_cast(op.input, op.result.type, build))
            case math_more.ErfcOp():
                check_library_name("erfc", op, functions)
                _replace(op, build.value(library_call("erfc", op.operand)))
            case math_more.SincosOp():
                _replace(op, build.value(math.SinOp(op.operand)), build.value(math.CosOp(op.operand)))
            case math_more.ClampFOp():
                _replace(op, build.value(arith.MinimumfOp(build.value(arith.MaximumfOp(op.value, op.min)), op.max)))
            case math_more.NumberTest():
                _replace(op, _test(op, build))
            case arith.BitcastOp() if op.input.type == op.result.type:
                _replace(op, op.input)
            case _ if (formula := INTEGER_FORMULAS.get(type(op))) is not None:
                _replace(op, *formula(op, build))
            case _:
                pass


def check_library_name(name: str, op: Operation, functions: Mapping[str, func.FuncOp]) -> None:
    """Refuse `op`, which is the function `name` of C's library, if the module defines another of that name.

    Raises:
        TapeflowError: it does, for the type that `op` is about.
    """
    type_ = op.operands[0].type
    part = cast(Attribute, getattr(type_, "element_type", type_))
    called = f"{name}f" if isinstance(part, Float32Type) else name
    own = functions.get(called)
    if own is not None and (not own.is_declaration or any(each != part for each in own.function_type.inputs)):
        raise TapeflowError(
            f"'{op.name}' is '{called}' of C's library, but this module defines a function of that name",
            location=op.location,
            hint=f"rename the module's '{called}'",
        )


def _replace(op: Operation, *values: SSAValue) -> None:
    for result, value in zip(op.results, values, strict=True):
        if source_name(value) is None:
            value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _unsigned_cast(value: SSAValue, type_: Attribute, build: LocatedBuilder) -> SSAValue:
    """`value` as a number of `type_` of 64 bits; one of them is an index."""
    if isinstance(type_, IndexType) and value.type != i64:
        value = build.value(arith.ExtUIOp(value, i64))
    return build.value(arith.IndexCastOp(value, type_))


_SMALLEST_NORMAL = {32: 2.0**-126, 64: 2.0**-1022}


def _test(op: math_more.NumberTest, build: LocatedBuilder) -> SSAValue:
    x, type_ = op.operand, cast(AnyFloat, op.operand.type)
    if isinstance(op, math_more.IsNaNOp):
        return build.value(arith.CmpfOp(x, x, "uno"))
    size = build.value(math.AbsFOp(x))
    infinity = build.value(arith.ConstantOp(FloatAttr(float("inf"), type_)))
    if isinstance(op, math_more.IsInfOp):
        return build.value(arith.CmpfOp(size, infinity, "oeq"))
    finite = build.value(arith.CmpfOp(size, infinity, "olt"))
    if isinstance(op, math_more.IsFiniteOp):
        return finite
    smallest = build.value(arith.ConstantOp(FloatAttr(_SMALLEST_NORMAL[type_.bitwidth], type_)))
    return build.value(arith.AndIOp(finite, build.value(arith.CmpfOp(size, smallest, "oge"))))
