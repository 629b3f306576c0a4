"""Expressions: Python's syntax tree in, values out. Evaluation is from left to right, as in Python."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any, Protocol

from tapeflow.frontend.python_arrays import Arrays
from tapeflow.frontend.python_builder import Builder
from tapeflow.frontend.python_numbers import Numbers
from tapeflow.frontend.python_reductions import Reductions
from tapeflow.frontend.python_refusals import unsupported, unsupported_comparison
from tapeflow.frontend.python_scope import Scope, known
from tapeflow.frontend.python_source import quoted
from tapeflow.frontend.python_subscripts import Subscripts
from tapeflow.frontend.python_types import BOOL, OF_DTYPE, Origin
from tapeflow.frontend.python_values import (
    ArrayValue,
    Elements,
    Method,
    Reference,
    Scalar,
    Tuple,
    Value,
    View,
    described,
    element_type,
    integer,
)

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_METHODS = frozenset({"sum", "prod", "max", "min", "mean", "copy", "dot", "fill"})


class CallMaker(Protocol):
    """Makes the IR of calls."""

    def value(self, node: ast.Call) -> Value | None:
        """The value of a call; None for that of a function that returns nothing."""
        ...


class Expressions:
    """Makes the IR of one function's expressions.

    Args:
        build: where the operations go.
        scope: the function's variables.

    Attributes:
        calls: makes the IR of calls; set once that is there.
        outermost: the expression that a statement is about: only there may a call change arrays, since what stands
            beside it may be computed later than it is written.
    """

    calls: CallMaker
    outermost: ast.expr | None = None

    def __init__(self, build: Builder, scope: Scope):
        self.build = build
        self.scope = scope
        self.numbers = Numbers(build)
        self.arrays = Arrays(self.numbers, scope.is_local)
        self.reductions = Reductions(self.arrays)
        self.subscripts = Subscripts(self.arrays, self.value)

    # Values.

    def value(self, node: ast.expr) -> Value:
        """The value of the expression `node`.

        Raises:
            TapeflowError: at the first part of it that the frontend does not take.
        """
        with self.build.at(node):
            match node:
                case ast.Constant():
                    return self._constant(node)
                case ast.Name():
                    return self.scope.read(node)
                case ast.UnaryOp():
                    return self._unary(node)
                case ast.BinOp():
                    return self._operations(node)
                case ast.BoolOp():
                    return self._logical(node, as_condition=False)
                case ast.Compare():
                    return self._comparison(node)
                case ast.IfExp():
                    return self._choice(node)
                case ast.Subscript():
                    return self._subscript(node)
                case ast.Attribute():
                    return self._attribute(node)
                case ast.Tuple():
                    return Tuple(tuple(self.scalar(item) for item in node.elts))
                case ast.Call():
                    return self._call(node)
                case _:
                    raise unsupported(self.build.source, node)

    def scalar(self, node: ast.expr) -> Scalar:
        """The value of `node`, which must be a number."""
        value = self.value(node)
        if not isinstance(value, Scalar):
            raise self.not_a_number(node, value)
        return value

    def operand(self, node: ast.expr) -> Scalar | ArrayValue:
        """The value of `node`, which must be a number or an array."""
        value = self.value(node)
        if not isinstance(value, Scalar | View | Elements):
            raise self.not_a_number(node, value)
        return value

    def not_a_number(self, node: ast.expr, value: Value) -> Exception:
        """The refusal of `node`, whose `value` is of no use where a number is needed."""
        if isinstance(value, View) and not value.lengths:
            return self.build.source.error(node, f"{quoted(node)} is an array", f"write '{ast.unparse(node)}[()]'")
        if isinstance(value, View | Elements):
            hint = "give all its subscripts, or use numpy's functions of whole arrays"
            return self.build.source.error(node, f"{quoted(node)} is {described(value)}, not a number", hint)
        hint = "keep to numbers and arrays of numbers"
        if isinstance(value, Reference) and type(value.object).__name__ == "ndarray":
            hint = "pass it as a parameter: an array outside the function can change between calls"
        return self.build.source.error(node, f"{quoted(node)} is {described(value)}, not a number", hint)

    def condition(self, node: ast.expr) -> Scalar:
        """Whether Python takes `node` for true."""
        with self.build.at(node):
            match node:
                case ast.BoolOp():
                    return self._logical(node, as_condition=True)
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    return self.numbers.negate_truth(self.condition(operand))
                case _:
                    return self._truth(node, self.value(node))

    def _truth(self, node: ast.expr, value: Value) -> Scalar:
        if isinstance(value, View | Elements):
            raise self.build.source.error(
                node,
                f"{quoted(node)} is {described(value)}, which has no truth value",
                "compare its elements in a loop; combine masks with '&' and '|'",
            )
        if not isinstance(value, Scalar):
            raise self.not_a_number(node, value)
        return self.numbers.convert(value, BOOL)

    def _constant(self, node: ast.Constant) -> Scalar:
        value = known(node.value)
        if isinstance(value, Scalar):
            if isinstance(value.now, int) and not -(1 << 63) <= value.now < 1 << 63:
                raise self.build.refuse(f"the integer {value.now} does not fit 64 bits", "compute with floats")
            return value
        match node.value:
            case str() | bytes():
                what, hint = "strings are", "keep to numbers and arrays of numbers"
            case _:
                what, hint = f"'{node.value}' is", "keep to numbers and arrays of numbers"
        raise self.build.refuse(f"{what} not supported", hint)

    # Operators.

    def _unary(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self.numbers.negate_truth(self.condition(node.operand))
        operand = self.operand(node.operand)
        match node.op:
            case ast.USub():
                return self.arrays.apply(lambda parts: self.numbers.negate(parts[0]), [operand])
            case ast.Invert():
                return self.arrays.apply(lambda parts: self.numbers.invert(parts[0]), [operand])
            case _:
                zero = integer(0)
                return self.arrays.apply(lambda parts: self.numbers.binary("+", parts[0], zero), [operand])

    def _operations(self, node: ast.BinOp) -> Scalar | ArrayValue:
        """`a + b - c ...`: one after the other, since long ones would overflow Python's stack if they were nested."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        result = self.operand(chain[-1].left)
        for part in reversed(chain):
            with self.build.at(part):
                result = self.binary(part.op, result, self.operand(part.right))
        return result

    def binary(
        self, operator: ast.operator, left: Scalar | ArrayValue, right: Scalar | ArrayValue
    ) -> Scalar | ArrayValue:
        """`left operator right`, of numbers and arrays."""
        if isinstance(operator, ast.MatMult):
            if isinstance(left, Scalar) or isinstance(right, Scalar):
                raise self.build.refuse("'@' of a number is not supported", "write '*'")
            return self.reductions.product(left, right)
        symbol = _BINARY[type(operator)]
        on_arrays = not (isinstance(left, Scalar) and isinstance(right, Scalar))
        return self.arrays.apply(
            lambda parts: self.numbers.binary(symbol, parts[0], parts[1], on_arrays), [left, right]
        )

    def _logical(self, node: ast.BoolOp, as_condition: bool) -> Scalar:
        """`and` and `or`; as a value only of bools, since Python gives one of the operands."""
        both = isinstance(node.op, ast.And)

        def operand(part: ast.expr) -> Scalar:
            if as_condition:
                return self.condition(part)
            value = self.value(part)
            truth = self._truth(part, value)
            if isinstance(value, Scalar) and value.type.kind != "bool":
                word = "and" if both else "or"
                raise self.build.source.error(
                    part,
                    f"'{word}' of {described(value)} gives one of its operands, which is not supported",
                    "compare it with 0, or write 'a if c else b'",
                )
            return truth

        result = operand(node.values[0])
        for part in node.values[1:]:
            result = self.numbers.combine(both, result, lambda part=part: operand(part))
        return result

    def _comparison(self, node: ast.Compare) -> Value:
        """`a < b <= c`: each operand is evaluated once, and only while the comparisons so far are true."""
        for symbol in node.ops:
            if type(symbol) not in _COMPARED:
                raise unsupported_comparison(self.build.source, node, symbol)
        symbols = [_COMPARED[type(symbol)] for symbol in node.ops]
        left = self.operand(node.left)
        if len(symbols) == 1:
            right = self.operand(node.comparators[0])
            return self.arrays.apply(lambda parts: self.numbers.compare(symbols[0], *parts), [left, right])
        if not isinstance(left, Scalar):
            raise self._truth_of_chain(node)
        return self._chain(node, left, symbols)

    def _chain(self, node: ast.Compare, left: Scalar, symbols: list[str]) -> Scalar:
        def compared(first: Scalar, position: int) -> Scalar:
            with self.build.at(node):
                second = self.scalar(node.comparators[position])
                result = self.numbers.compare(symbols[position], first, second)
                if position + 1 == len(symbols):
                    return result
                return self.numbers.combine(True, result, lambda: compared(second, position + 1))

        return compared(left, 0)

    def _truth_of_chain(self, node: ast.Compare) -> Exception:
        return self.build.source.error(
            node, f"{quoted(node)} needs the truth value of an array", "write '(a < b) & (b < c)'"
        )

    def _choice(self, node: ast.IfExp) -> Scalar:
        """`a if c else b`: only one of the two is evaluated."""
        condition = self.condition(node.test)
        return self.numbers.choose(
            condition,
            lambda: self.scalar(node.body),
            lambda: self.scalar(node.orelse),
            self.numbers.same_type,
        )

    # Arrays.

    def part(self, node: ast.Subscript) -> View:
        """The part of an array that `node` means."""
        with self.build.at(node):
            value = self.value(node.value)
            if not isinstance(value, View):
                raise self._cannot_subscript(node, value)
            return self.subscripts.part(value, node)

    def _subscript(self, node: ast.Subscript) -> Value:
        value = self.value(node.value)
        match value:
            case View():
                part = self.subscripts.part(value, node)
                return part if part.lengths else self.arrays.load(part)
            case Tuple(items):
                position = self.scalar(node.slice) if not isinstance(node.slice, ast.Slice) else None
                number = position.number if position is not None else None
                if not isinstance(number, int) or not -len(items) <= number < len(items):
                    raise self.build.source.error(
                        node.slice, f"the subscript of a tuple must be a constant less than {len(items)}"
                    )
                return items[number]
            case _:
                raise self._cannot_subscript(node, value)

    def _cannot_subscript(self, node: ast.Subscript, value: Value) -> Exception:
        match value:
            case Scalar():
                name = quoted(node.value)
                message = f"{quoted(node)} has too many subscripts: {name} is {described(value)}, not an array"
                hint = "leave the subscript out, or declare an array: 'x: f64[\"n\"]'"
            case Elements():
                message, hint = "a subscript of an expression is not supported", "give the expression a name first"
            case _:
                return self.not_a_number(node.value, value)
        return self.build.source.error(node, message, hint)

    def _attribute(self, node: ast.Attribute) -> Value:
        value = self.value(node.value)
        match value:
            case Reference(object=owner):
                return self._attribute_of_object(node, owner)
            case View() | Elements():
                return self._attribute_of_array(node, value)
            case Scalar() if node.attr == "real" or node.attr == "imag":
                return self.numbers.part(value, node.attr)
            case Scalar() if node.attr in ("conj", "conjugate") and value.type.kind != "bool":
                if node.attr == "conj" and value.type.origin is not Origin.NUMPY:
                    message = f"{described(value)} of Python has no attribute 'conj'"
                    raise self.build.source.error(node, message, "write '.conjugate()'")
                return Method(value, "conjugate")
            case _:
                raise self.build.source.error(
                    node,
                    f"the attribute '{node.attr}' of {described(value)} is not supported",
                    "keep to numbers and arrays of numbers",
                )

    def _attribute_of_object(self, node: ast.Attribute, owner: Any) -> Value:
        try:
            return known(getattr(owner, node.attr))
        except AttributeError:
            kind = "module" if isinstance(owner, ModuleType) else type(owner).__name__
            message = f"the {kind} {quoted(node.value)} has no attribute '{node.attr}'"
            raise self.build.source.error(node, message) from None

    def _attribute_of_array(self, node: ast.Attribute, value: ArrayValue) -> Value:
        match node.attr:
            case "shape":
                return Tuple(tuple(self.numbers.extent(length) for length in value.lengths))
            case "size":
                return self.arrays.size(value.lengths)
            case "ndim":
                return integer(len(value.lengths))
            case "dtype":
                element = element_type(value)
                return Reference(next(dtype for dtype, scalar in OF_DTYPE.items() if scalar.is_same(element)))
            case "real" | "imag" as which if element_type(value).kind == "complex":
                return self.arrays.apply(lambda parts: self.numbers.part(parts[0], which), [value])
            case "conj" | "conjugate" if element_type(value).kind == "complex":
                return Method(value, "conjugate")
            case name if name in _METHODS:
                return Method(value, name)
            case "T":
                message, hint = "'.T' is not supported", "exchange the subscripts where the array is read"
            case name:
                message = f"the attribute '{name}' of an array is not supported"
                hint = "docs/frontend-python.md lists what is"
        raise self.build.source.error(node, message, hint)

    def _call(self, node: ast.Call) -> Value:
        value = self.calls.value(node)
        if value is None:
            raise self.build.source.error(
                node, f"{quoted(node.func)} returns nothing", "call it in a statement of its own"
            )
        return value
