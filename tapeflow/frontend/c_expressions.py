"""Expressions: C in, SSA values out.

Evaluation is from left to right where C leaves the order open; where that could change a result, the expression is
refused (see `check_order`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, math, memref
from xdsl.ir import Attribute, Operation, SSAValue

from tapeflow.frontend import c_complex, c_effects
from tapeflow.frontend.c_assignments import Assignments
from tapeflow.frontend.c_bindings import Array, Binding, Fixed, Place, Pointer, Slot
from tapeflow.frontend.c_builder import COMPARISONS, Index, IRBuilder, Value
from tapeflow.frontend.c_constants import integer, number
from tapeflow.frontend.c_math import is_math_function, math_operation
from tapeflow.frontend.c_pointers import Pointers, is_pointer
from tapeflow.frontend.c_records import Record, RecordArrayType
from tapeflow.frontend.c_refusals import pointer_value, unsupported, unsupported_value
from tapeflow.frontend.c_signatures import Parameter, Signature
from tapeflow.frontend.c_structs import Records
from tapeflow.frontend.c_types import BOOL, DOUBLE, LONG, ArrayType, Scalar, common, scalar_of, wrapped
from tapeflow.frontend.c_variants import Variants, parts_of
from tapeflow.frontend.clang_tree import Node

_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"})
_INDEX_ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})
_CASTS = frozenset({"UNEXPOSED_EXPR", "CSTYLE_CAST_EXPR"})
_LITERALS = frozenset({"INTEGER_LITERAL", "FLOATING_LITERAL", "CHARACTER_LITERAL", "CXX_UNARY_EXPR"})


@dataclass
class Expressions:
    """Makes the IR of one function's expressions.

    Args:
        build: where the operations go.
        signatures: of the functions that the file defines.
        variants: the functions that the IR needs; those that are called are added.
    """

    build: IRBuilder
    signatures: Mapping[Node, Signature]
    variants: Variants
    bindings: dict[Node, Binding] = field(default_factory=dict[Node, Binding])
    _native_kinds: dict[Node, bool | None] = field(default_factory=dict[Node, "bool | None"], init=False)
    pointers: Pointers = field(init=False)
    records: Records = field(init=False)
    assignments: Assignments = field(init=False)

    def __post_init__(self):
        self.pointers = Pointers(self)
        self.records = Records(self)
        self.assignments = Assignments(self)

    # Values.

    def value(self, node: Node) -> Value:
        """The value of the expression `node`.

        Raises:
            TapeflowError: at the first part of it that the frontend does not take.
        """
        if (imaginary := c_complex.imaginary_constant(node, self.build)) is not None:
            return imaginary
        match node.kind:
            case "PAREN_EXPR":
                return self.value(node.children[0])
            case _ if c_effects.is_assignment(node):
                return self.assignments.value(node)
            case kind if kind in _LITERALS:
                return self._literal(node)
            case kind if kind in _CASTS:
                return self._cast(node)
            case "DECL_REF_EXPR":
                return self._named(node)
            case "UNARY_OPERATOR":
                return self._unary(node)
            case "BINARY_OPERATOR":
                return self._binary(node)
            case "CONDITIONAL_OPERATOR":
                return self._choice(node)
            case "ARRAY_SUBSCRIPT_EXPR" | "MEMBER_REF_EXPR":
                return self.load(self.place(node), node)
            case "CALL_EXPR":
                return self._call_value(node)
            case _:
                raise unsupported(node)

    def value_as(self, node: Node, to: Scalar) -> Value:
        """The value of `node`, converted to `to`."""
        return self.build.convert(self.value(node), to, node)

    def condition(self, node: Node) -> Value:
        """Whether `node` is not zero, as a `bool`."""
        self.check_order(node)
        return self._truth(node)

    def _truth(self, node: Node) -> Value:
        self._scalar(node)
        return self.value_as(node, BOOL)

    def _scalar(self, node: Node) -> Scalar:
        """The arithmetic type of the expression `node`."""
        scalar = scalar_of(node.type)
        if scalar is None:
            if node.type.kind in ("POINTER", "CONSTANTARRAY", "VARIABLEARRAY", "INCOMPLETEARRAY"):
                raise pointer_value(node)
            if node.type.kind in ("INVALID", "UNEXPOSED") or (node.type.kind == "VOID" and node.kind != "CALL_EXPR"):
                raise unsupported(node)
            raise unsupported_value(node)
        return scalar

    def _literal(self, node: Node) -> Value:
        scalar = self._scalar(node)
        if (known := number(node)) is None:
            raise unsupported(node)
        return Value(scalar, known)

    def _cast(self, node: Node) -> Value:
        if len(node.children) != 1 + (node.children[0].kind == "TYPE_REF" if node.children else 0):
            raise unsupported(node)
        to = self._scalar(node)
        operand = node.children[-1]
        if self._scalar(operand) == to:
            return self.value(operand)
        if self.is_native(node):
            return self.build.from_index(self.index(node), to, node)
        return self.value_as(operand, to)

    def _named(self, node: Node) -> Value:
        declaration = node.declaration
        self._scalar(node)
        assert declaration is not None
        match self.bindings.get(declaration):
            case Fixed() as fixed:
                return self._fixed_value(fixed, declaration)
            case Slot() as slot:
                return self.load(self._place_of(slot, node), node)
            case _:
                pass
        if (known := number(node)) is not None:
            scalar = scalar_of(node.type)
            assert scalar is not None
            return Value(scalar, known)
        if declaration.is_global:
            scalar = self._scalar(declaration)
            if scalar.is_complex and declaration.type.is_const and (initializer := declaration.initializer) is not None:
                return self.value_as(initializer, scalar)
            raise node.error(
                f"the global variable '{node.spelling}' is not constant, which is not supported",
                "pass it as a parameter, or declare it 'static const' with a constant value",
            )
        raise unsupported(node)

    def _fixed_value(self, fixed: Fixed, declaration: Node) -> Value:
        if fixed.value is None:
            assert fixed.index is not None
            if isinstance(fixed.index, SSAValue):
                cast = arith.IndexCastOp(fixed.index, fixed.type.ir)
                ssa = self.build.after(fixed.index, cast, declaration, declaration.spelling)
                fixed.value = Value(fixed.type, ssa)
            else:
                fixed.value = self.build.from_index(fixed.index, fixed.type, declaration)
        return fixed.value

    def _unary(self, node: Node) -> Value:
        operand = node.children[0]
        match node.operator:
            case "*":
                return self.load(self.place(node), node)
            case "+" | "__extension__":
                return self.value_as(operand, self._scalar(node))
            case "-":
                return self._negated(node)
            case "__real":
                return self.build.real_part(self.value(operand), node)
            case "__imag":
                return self.build.imaginary_part(self.value(operand), node)
            case "~" if not (scalar := self._scalar(node)).is_complex:
                inverted = self.build.binary("^", self.value_as(operand, scalar), Value(scalar, -1), node)
                assert inverted is not None
                return inverted
            case "!":
                return self._inverted(self._truth(operand), node)
            case _:
                raise unsupported(node)

    def _negated(self, node: Node) -> Value:
        scalar = self._scalar(node)
        if self.is_native(node):
            return self.build.from_index(self.index(node), scalar, node)
        operand = self.value_as(node.children[0], scalar)
        if scalar.is_complex:
            return c_complex.negated(self.build, operand, node)
        if scalar.is_float:
            if operand.number is not None:
                return Value(scalar, -operand.number)
            return Value(scalar, self.build.compute(arith.NegfOp(self.build.ssa(operand, node)), node))
        negated = self.build.binary("-", Value(scalar, 0), operand, node)
        assert negated is not None
        return negated

    def _inverted(self, truth: Value, node: Node) -> Value:
        if truth.number is not None:
            return Value(BOOL, int(not truth.number))
        inverted = self.build.binary("^", truth, Value(BOOL, 1), node)
        assert inverted is not None
        return inverted

    def _binary(self, node: Node) -> Value:
        operator = node.operator
        if operator == ",":
            self.discard(node.children[0])
            return self.value(node.children[1])
        if operator in ("&&", "||"):
            return self._logical(node)
        if operator in COMPARISONS:
            return self._comparison(node)
        if operator not in _ARITHMETIC:
            raise unsupported(node)
        scalar = self._scalar(node)
        if operator == "-" and all(is_pointer(child.type) for child in node.children):
            minuend, subtrahend = node.children
            return self.pointers.difference(minuend, subtrahend, node)
        if self.is_native(node):
            return self.build.from_index(self.index(node), scalar, node)
        # Lists, not generators: generators that nest as deep as the source does use up C's stack.
        left, right = [
            self.value_as(child, c_complex.operand_type(self._scalar(child), scalar)) for child in node.children
        ]
        result = c_complex.operate(self.build, operator, left, right, node)
        assert result is not None  # clang refuses the operators that a type does not have
        return result

    def _operands(self, node: Node) -> Sequence[Node]:
        for child in node.children:
            self._scalar(child)
        return node.children

    def _comparison(self, node: Node) -> Value:
        operator = node.operator
        assert operator is not None
        left, right = node.children
        if is_pointer(left.type) or is_pointer(right.type):
            return self.pointers.compare(operator, left, right, node)
        self._operands(node)
        scalar = common(self._scalar(left), self._scalar(right))
        if scalar.is_integer and self._any_native(left, right):
            first, second = self.index(left), self.index(right)
            return Value(BOOL, self.build.compare_indices(operator, first, second, scalar.signed, node))
        values = self.value_as(left, scalar), self.value_as(right, scalar)
        return Value(BOOL, self.build.compare(operator, *values, node))

    def _logical(self, node: Node) -> Value:
        """`&&` and `||`: the right operand is evaluated only where the left one does not decide."""
        left, right = self._operands(node)
        return self._and_or(node.operator == "&&", self._truth(left), right, node)

    def also(self, first: Value, condition: Node) -> Value:
        """Whether `first`, and then `condition`, which is not evaluated otherwise, is true."""
        self.check_order(condition)
        self._scalar(condition)
        return self._and_or(True, first, condition, condition)

    def _and_or(self, both: bool, first: Value, right: Node, node: Node) -> Value:
        if first.number is not None:
            return self._truth(right) if bool(first.number) == both else Value(BOOL, int(not both))
        if c_effects.is_cheap_and_safe(right):
            second = self._truth(right)
            if second.number is not None:
                return first if bool(second.number) == both else second
            result = self.build.binary("&" if both else "|", first, second, node)
            assert result is not None
            return result

        def evaluate() -> Sequence[SSAValue]:
            return [self.build.ssa(self._truth(right), right)]

        def decided() -> Sequence[SSAValue]:
            return [self.build.constant(int(not both), BOOL.ir, node)]

        arms = (evaluate, decided) if both else (decided, evaluate)
        return Value(BOOL, self.build.branch(first, *arms, [BOOL.ir], node)[0])

    def _choice(self, node: Node) -> Value:
        """`condition ? a : b`: only one of `a` and `b` is evaluated."""
        scalar = self._scalar(node)
        condition, then, otherwise = node.children
        truth = self._truth(condition)
        if truth.number is not None:
            return self.value_as(then if truth.number else otherwise, scalar)

        def arm(chosen: Node):
            return lambda: [self.build.ssa(self.value_as(chosen, scalar), chosen)]

        return Value(scalar, self.build.branch(truth, arm(then), arm(otherwise), [scalar.ir], node)[0])

    def discard(self, node: Node) -> None:
        """Make what the expression `node` does, where its value is not used."""
        inner = node.stripped
        if inner.kind == "BINARY_OPERATOR" and inner.operator == ",":
            for child in inner.children:
                self.discard(child)
        elif c_effects.is_assignment(inner) and is_pointer(inner.type):
            self.pointers.assign(inner)
        elif inner.type.kind == "RECORD":
            self.records.place(inner)
        elif c_effects.is_assignment(inner):
            self.assignments.make(inner)
        elif inner.kind == "CALL_EXPR":
            self.call(inner)
        elif inner.kind == "CSTYLE_CAST_EXPR" and inner.type.kind == "VOID":
            self.discard(inner.children[-1])
        elif inner.kind == "CONDITIONAL_OPERATOR" and inner.type.kind == "VOID":
            self._discarded_choice(inner)
        elif inner.type.kind == "INVALID":
            raise unsupported(inner)
        elif c_effects.has_effects(inner):
            if is_pointer(inner.type):
                self.pointers.value(inner)
            else:
                self.value(inner)

    def _discarded_choice(self, node: Node) -> None:
        condition, then, otherwise = node.children

        def arm(chosen: Node):
            def make() -> Sequence[SSAValue]:
                self.discard(chosen)
                return []

            return make

        self.build.branch(self._truth(condition), arm(then), arm(otherwise), [], node)

    # Memory.

    def place(self, node: Node) -> Place:
        """The place that the expression `node` names: a variable in memory, or an element with all its subscripts."""
        inner = node.stripped
        if inner.kind in ("ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF_EXPR") or (
            inner.kind == "UNARY_OPERATOR" and inner.operator == "*"
        ):
            return self.pointers.element(inner)
        declaration = c_effects.variable(inner)
        binding = None if declaration is None else self.bindings.get(declaration)
        if not isinstance(binding, Slot):
            raise pointer_value(inner) if inner.type.kind == "POINTER" else unsupported(inner)
        return self._place_of(binding, node)

    def _place_of(self, slot: Slot, node: Node) -> Place:
        return Place(slot.type, slot.memory, [] if slot.array is None else [self.build.index_ssa(0, node)])

    def load(self, place: Place, node: Node) -> Value:
        """What `place` holds."""
        return Value(place.type, self.build.compute(memref.LoadOp.get(place.memory, place.indices), node))

    # Indices.

    def index(self, node: Node) -> Index:
        """The value of the integer expression `node` as an `index`, with its arithmetic done in `index`."""
        if (known := integer(node)) is not None:
            return wrapped(known, LONG)
        scalar = self._scalar(node)
        if node.kind == "PAREN_EXPR" or (node.kind in _CASTS and self._keeps_index(node)):
            return self.index(node.children[-1])
        if node.kind == "DECL_REF_EXPR" and isinstance(fixed := self._binding(node), Fixed):
            return self._fixed_index(fixed, node)
        if node.kind == "BINARY_OPERATOR" and node.operator in _INDEX_ARITHMETIC and not scalar.is_extended_by_zeros:
            left, right = [self.index(child) for child in node.children]
            return self.build.index_binary(node.operator, left, right, scalar.signed, node)
        if node.kind == "UNARY_OPERATOR" and node.operator == "-" and not scalar.is_extended_by_zeros:
            return self.build.index_binary("-", 0, self.index(node.children[0]), scalar.signed, node)
        return self.build.index_of(self.value_as(node, scalar), node)

    def _binding(self, node: Node) -> Binding | None:
        return None if node.declaration is None else self.bindings.get(node.declaration)

    def _keeps_index(self, cast: Node) -> bool:
        """Whether a conversion leaves the value, as a 64-bit index, what it was."""
        source, to = scalar_of(cast.children[-1].type), scalar_of(cast.type)
        if source is None or to is None or source.is_float or source is BOOL:
            return False
        return to == source or (to.is_integer and to.width == 64)

    def _fixed_index(self, fixed: Fixed, node: Node) -> Index:
        if fixed.index is None:
            assert fixed.value is not None
            declaration = node.declaration
            assert declaration is not None
            if fixed.value.number is not None or fixed.type.is_extended_by_zeros:
                # These take more than one operation, which stand where they are used.
                return self.build.index_of(fixed.value, node)
            cast = self.build.index_cast(fixed.value, declaration)
            ssa = self.build.ssa(fixed.value, declaration)
            fixed.index = self.build.after(ssa, cast, declaration, declaration.spelling)
        return fixed.index

    def _any_native(self, *nodes: Node) -> bool:
        """Whether all of `nodes` are at home in `index`, and one of them is not just a constant or a fixed value."""
        kinds = [self._native_kind(node) for node in nodes]
        return any(kinds) and all(kind is not None for kind in kinds)

    def is_native(self, node: Node) -> bool:
        """Whether the integer expression `node` is computed from loop counters, constants and fixed values alone."""
        return self._native_kind(node) is True

    def _native_kind(self, node: Node) -> bool | None:
        """True where `node` is computed from loop counters in `index`; False where it might as well be; else None."""
        if node not in self._native_kinds:
            self._native_kinds[node] = self._find_native_kind(node)
        return self._native_kinds[node]

    def _find_native_kind(self, node: Node) -> bool | None:
        scalar = scalar_of(node.type)
        if scalar is None or not scalar.is_integer:
            return None
        if node.kind == "PAREN_EXPR" or (node.kind in _CASTS and node.children and self._keeps_index(node)):
            return self._native_kind(node.children[-1])
        if node.kind == "DECL_REF_EXPR" and isinstance(fixed := self._binding(node), Fixed):
            return fixed.native or (None if fixed.type.is_extended_by_zeros else False)
        if integer(node) is not None:
            return False
        if scalar.is_extended_by_zeros:
            return None
        if node.kind == "BINARY_OPERATOR" and node.operator in _INDEX_ARITHMETIC:
            left, right = [self._native_kind(child) for child in node.children]
            return None if left is None or right is None else left or right
        if node.kind == "UNARY_OPERATOR" and node.operator == "-":
            return self._native_kind(node.children[0])
        return None

    def is_nonnegative(self, node: Node) -> bool:
        """Whether the integer expression `node` is certainly not negative."""
        if (known := integer(node)) is not None:
            return known >= 0
        inner = node.stripped
        converted, scalar = scalar_of(node.type), scalar_of(inner.type)
        if converted is None or scalar is None or not scalar.is_integer or converted.width < scalar.width:
            return False
        if not scalar.signed:
            return not converted.signed or converted.width > scalar.width
        if inner.kind == "DECL_REF_EXPR" and isinstance(fixed := self._binding(inner), Fixed):
            return fixed.nonnegative
        if inner.kind == "BINARY_OPERATOR" and inner.operator in ("+", "*", "/"):
            left, right = [self.is_nonnegative(child) for child in inner.children]
            return left and right
        return False

    # Calls.

    def _call_value(self, node: Node) -> Value:
        result = self.call(node)
        if result is None:
            raise node.error(f"'{node.spelling}' returns no value to use here", "call it in a statement of its own")
        return result

    def call(self, node: Node) -> Value | None:
        """The call `node`; its value, or None if the function returns none."""
        function = c_effects.callee(node)
        if function is None:
            raise node.error(
                "a call through a pointer is not supported: which function runs is not known", "call a function by name"
            )
        if (signature := self.signatures.get(function)) is not None:
            return self._call_of_file(node, function, signature)
        if (constant := node.constant) is not None:
            return Value(self._scalar(node), constant)
        if c_complex.is_complex_function(function.spelling):
            operands = [self.value_as(argument, self._scalar(argument)) for argument in c_effects.arguments(node)]
            return c_complex.call(self.build, node, function, operands)
        if function.spelling.startswith("__builtin_is"):
            return self._classified(node, function.spelling)
        if is_math_function(function.spelling):
            return self._call_of_library(node, function)
        if function.is_in_shipped_header:
            raise node.error(
                f"the value of '{function.spelling}' is not supported", "call it in a statement of its own"
            )
        raise node.error(
            f"'{function.spelling}' is declared but not defined in this file: it cannot be differentiated",
            "define it in this file, or give its derivative by '#pragma tapeflow rule(...)'",
        )

    def _call_of_library(self, node: Node, function: Node) -> Value:
        operands = [
            self.build.ssa(self.value_as(argument, self._scalar(argument)), argument)
            for argument in c_effects.arguments(node)
        ]
        op = math_operation(function.spelling, operands)
        if op is None or op.results[0].type != self._scalar(node).ir:
            raise node.error(
                f"'{function.spelling}' is not declared here as the C library declares it", "include <math.h>"
            )
        return Value(self._scalar(node), self.build.compute(op, node))

    def _classified(self, node: Node, name: str) -> Value:
        """`isnan`, `isinf` and `isfinite`."""
        (argument,) = c_effects.arguments(node)
        scalar = self._scalar(argument)
        operand = self.value_as(argument, scalar if scalar.is_float else DOUBLE)
        if name == "__builtin_isnan":
            return Value(BOOL, self.build.compare("!=", operand, operand, node))
        operator = {"__builtin_isinf": "==", "__builtin_isfinite": "<"}.get(name)
        if operator is None:
            raise node.error(f"'{name}' is not supported", "use 'isnan', 'isinf' or 'isfinite'")
        size = Value(operand.type, self.build.compute(math.AbsFOp(self.build.ssa(operand, node)), node))
        return Value(BOOL, self.build.compare(operator, size, Value(operand.type, float("inf")), node))

    def _call_of_file(self, node: Node, function: Node, signature: Signature) -> Value | None:
        if isinstance(signature.result, Record):
            self._struct_of_call(node, function, signature, signature.result)
            return None
        results = [] if signature.result is None else [signature.result.ir]
        op = self._called(node, function, signature, results, ())
        return None if signature.result is None else Value(signature.result, op.results[0])

    def call_for_struct(self, node: Node) -> Pointer:
        """The struct that the call `node` returns."""
        function = c_effects.callee(node)
        signature = None if function is None else self.signatures.get(function)
        if function is None or signature is None or not isinstance(signature.result, Record):
            self.call(node)
            raise unsupported(node)
        return self._struct_of_call(node, function, signature, signature.result)

    def _struct_of_call(self, node: Node, function: Node, signature: Signature, record: Record) -> Pointer:
        struct = self.records.temporary(record, node)
        self._called(node, function, signature, [], struct.memories)
        return Pointer(struct)

    def _called(
        self,
        node: Node,
        function: Node,
        signature: Signature,
        results: Sequence[Attribute],
        returned: Sequence[SSAValue],
    ) -> Operation:
        """The operation that calls a function of the file; `returned` is the memory of the struct that it returns."""
        scalars: dict[int, SSAValue] = {}
        pointers: dict[int, Pointer] = {}
        arguments = c_effects.arguments(node)
        for position, (argument, parameter) in enumerate(zip(arguments, signature.parameters, strict=True)):
            if isinstance(parameter.type, Scalar):
                self._scalar(argument)
                scalars[position] = self.build.ssa(self.value_as(argument, parameter.type), argument)
            elif parameter.is_struct:
                pointers[position] = self.records.place(argument)
            else:
                pointers[position] = self._pointer_argument(argument, parameter.type, parameter.name)
        self._part_structs(pointers, arguments, signature.parameters)
        parts = parts_of(pointers)
        operands: list[SSAValue] = []
        passed: set[int] = set()
        for position, (argument, parameter) in enumerate(zip(arguments, signature.parameters, strict=True)):
            if isinstance(parameter.type, Scalar):
                operands.append(scalars[position])
                continue
            pointer, part = pointers[position], parts.get(position)
            if part is None:
                assert isinstance(parameter.type, ArrayType)
                operands.append(self._array_operand(argument, pointer, parameter.type))
                continue
            for place, memory in zip(part.memories, pointer.array.memories, strict=True):
                if place not in passed:
                    passed.add(place)
                    operands.append(memory)
            if part.array.rank:
                operands += [self.build.index_ssa(index, argument) for index in (*pointer.row, pointer.offset)]
        name = self.variants.name(function, parts)
        return self.build.add(func.CallOp(name, [*operands, *returned], results), node)

    def _part_structs(
        self, pointers: dict[int, Pointer], arguments: Sequence[Node], parameters: Sequence[Parameter]
    ) -> None:
        """Copy the structs that are passed by value if the function might change them through another argument."""
        for position, pointer in pointers.items():
            if parameters[position].is_struct and any(
                not set(pointer.array.memories).isdisjoint(other.array.memories)
                for at, other in pointers.items()
                if at != position and not parameters[at].is_struct
            ):
                copy = self.records.copied(pointer, arguments[position], parameters[position].name)
                pointers[position] = Pointer(copy)

    def _pointer_argument(self, node: Node, wanted: ArrayType | RecordArrayType, name: str) -> Pointer:
        """What is passed for an array parameter."""
        pointer = self.pointers.value(node)
        if wanted.rank == 1:
            pointer = self.pointers.stored(pointer, node)
        array = pointer.array.type
        # A variable by itself is passed as an array of one.
        rank = 1 if pointer.flat or array.rank == 0 else array.rank - len(pointer.row)
        if array.element != wanted.element or rank != wanted.rank:
            raise node.error(
                f"this argument does not have the shape of the array '{name}'", "declare both with the same type"
            )
        return pointer

    def _array_operand(self, node: Node, pointer: Pointer, wanted: ArrayType) -> SSAValue:
        """The array that is passed, of the type `wanted`."""
        array = pointer.array
        assert isinstance(array, Array)
        if array.type.ir == wanted.ir:
            return array.memory
        return self.build.compute(memref.CastOp.get(array.memory, wanted.ir), node, node.stripped.spelling or None)

    # Order.

    def check_order(self, expression: Node) -> None:
        """Refuse a full expression whose value depends on an order of evaluation that C leaves open."""
        if (conflict := c_effects.order_conflict(expression)) is not None:
            change, array = conflict
            what = f"'{change.spelling}'" if change.kind == "CALL_EXPR" else "this assignment"
            raise change.error(
                f"{what} may change '{array.spelling}', which the same expression uses: C leaves open which comes "
                "first",
                f"make the {'call' if change.kind == 'CALL_EXPR' else 'assignment'} a statement of its own",
            )
