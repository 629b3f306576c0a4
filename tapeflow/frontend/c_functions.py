"""Functions: a C function's definition in, a `func.func` out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tapeflow.frontend.c_arrays import declare_array, is_constant_table
from tapeflow.frontend.c_bindings import Array, Fixed, Pointer, Slot
from tapeflow.frontend.c_builder import INDEX, IRBuilder, Value, suggest_name
from tapeflow.frontend.c_effects import body, changes, is_addressed, moves, variable
from tapeflow.frontend.c_expressions import Expressions
from tapeflow.frontend.c_flow import Exit, all_complete, exits_of
from tapeflow.frontend.c_loops import counters, counters_used_after
from tapeflow.frontend.c_signatures import Parameter, Signature, is_array, returned
from tapeflow.frontend.c_statements import Statements
from tapeflow.frontend.c_types import ArrayType, Scalar
from tapeflow.frontend.c_variants import Part, Parts, Variant, Variants
from tapeflow.frontend.clang_tree import Node


def import_function(variant: Variant, signatures: Mapping[Node, Signature], variants: Variants) -> func.FuncOp:
    """The IR of a function that is defined.

    Args:
        variant: its definition, and the shapes that it takes.
        signatures: of all functions of the file, itself among them.
        variants: the functions that the IR needs; those that it calls are added.

    Raises:
        TapeflowError: at the first thing in it that the frontend does not take.
    """
    function, parts, name = variant.function, variant.parts, variant.name
    signature = signatures[function]
    op = _declare(function, signature, parts, name)
    entry = op.body.block
    build = IRBuilder(entry)
    statements_of = body(function)
    private = counters(statements_of) - counters_used_after(statements_of)
    changed = {change.variable for change in changes(statements_of)} - private
    expressions = Expressions(build, signatures, variants)
    statements = Statements(build, expressions, changed, set(private))
    arguments = _Arguments(deque(entry.args))
    for position, parameter in enumerate(signature.parameters):
        arguments.bind(position, parameter, parts.get(position), statements)
    for table in _constant_tables(statements_of):
        expressions.bindings[table] = declare_array(table, expressions)
    _define(function, signature, statements)
    return op


def _declare(function: Node, signature: Signature, parts: Parts, name: str) -> func.FuncOp:
    results = [] if signature.result is None else [signature.result.ir]
    arguments = [
        argument
        for position, parameter in enumerate(signature.parameters)
        for argument in _arguments(parameter, parts.get(position))
    ]
    op = func.FuncOp(
        name,
        ([argument.type for argument in arguments], results),
        visibility="private" if parts or function.storage_class == "STATIC" else None,
        arg_attrs=ArrayAttr([argument.attributes for argument in arguments]),
        res_attrs=ArrayAttr([_result_attributes(function)]) if results else None,
    )
    op.location = function.location
    for argument, made in zip(op.body.block.args, arguments, strict=True):
        argument.location = made.parameter.declaration.named_location(made.name)
        suggest_name(argument, made.name)
    return op


@dataclass(frozen=True)
class _Argument:
    """An argument of a `func.func`, which stands for `parameter` or for a part of what is passed for it."""

    parameter: Parameter
    name: str
    type: Attribute
    attributes: DictionaryAttr


def _arguments(parameter: Parameter, part: Part | None) -> Iterator[_Argument]:
    name = parameter.name
    if part is None:
        yield _Argument(parameter, name, parameter.ir, _attributes(parameter))
        return
    if part.same_as is None:
        yield _Argument(parameter, name, part.array.ir, DictionaryAttr({"tapeflow.name": StringAttr(name)}))
    for index in (*(f"{name}_row{number}" for number in range(part.rows)), f"{name}_at"):
        yield _Argument(parameter, index, INDEX, DictionaryAttr({"tapeflow.name": StringAttr(index)}))


def _attributes(parameter: Parameter) -> DictionaryAttr:
    attributes: dict[str, Attribute] = {"tapeflow.name": StringAttr(parameter.name)}
    if not isinstance(parameter.type, Scalar):
        attributes["tapeflow.extents"] = ArrayAttr([StringAttr(extent) for extent in parameter.extents])
        if parameter.type.const:
            attributes["tapeflow.const"] = UnitAttr()
    return DictionaryAttr(attributes)


def _result_attributes(function: Node) -> DictionaryAttr:
    return DictionaryAttr({"tapeflow.name": StringAttr(_result_name(function))})


def _result_name(function: Node) -> str:
    """The name of what is returned: a variable's, if it is the same everywhere, or `return`."""
    values = [node.children[0] for node in body(function).walk() if node.kind == "RETURN_STMT" and node.children]
    named = {variable(value) for value in values}
    (only,) = named if len(named) == 1 else (None,)
    return "return" if only is None else only.spelling


@dataclass
class _Arguments:
    """The arguments of a `func.func` that no parameter has taken yet, and the arrays of those that have."""

    left: deque[BlockArgument]
    arrays: dict[int, Array] = field(default_factory=dict[int, Array])

    def bind(self, position: int, parameter: Parameter, part: Part | None, statements: Statements) -> None:
        """Let the expressions know a parameter, which takes its share of the arguments."""
        declaration, bindings = parameter.declaration, statements.expressions.bindings
        if not isinstance(parameter.type, Scalar):
            pointer = self._pointer(position, parameter.type, part)
            if moves(declaration):
                statements.expressions.pointers.make_moving(declaration, pointer)
            else:
                bindings[declaration] = pointer.array if part is None else pointer
            return
        value = Value(parameter.type, self.left.popleft())
        if declaration in statements.assigned or is_addressed(declaration):
            bindings[declaration] = slot = statements.slot(declaration, parameter.type)
            statements.store(slot, value, declaration, parameter.name)
        else:
            nonnegative = parameter.type.is_integer and not parameter.type.signed
            bindings[declaration] = Fixed(parameter.type, value, nonnegative=nonnegative)

    def _pointer(self, position: int, array_type: ArrayType, part: Part | None) -> Pointer:
        if part is None:
            return Pointer(Array(array_type, self.left.popleft()))
        if part.same_as is None:
            self.arrays[position] = Array(part.array, self.left.popleft())
        array = self.arrays[position if part.same_as is None else part.same_as]
        row = tuple(self.left.popleft() for _ in range(part.rows))
        return Pointer(array, row, self.left.popleft(), part.flat)


def _constant_tables(statements_of: Node) -> list[Node]:
    """The global arrays of constants that the function uses, in order of first use."""
    used = dict.fromkeys(named for node in statements_of.walk() if (named := variable(node)) is not None)
    return [named for named in used if named.is_global and is_array(named.type) and is_constant_table(named)]


def _define(function: Node, signature: Signature, statements: Statements) -> None:
    """Make the IR of the function's statements, the `func.return` at its end included."""
    build, parts = statements.build, body(function).children
    end = returned(function)
    if Exit.RETURN not in exits_of(parts if end is None else parts[:-1]):
        statements.run(parts if end is None else parts[:-1])
        values = _returned_values(function, end, signature, statements.expressions)
        build.add(func.ReturnOp(*values), end or function)
        return
    if signature.result is not None:
        if all_complete(parts):
            raise function.error(
                f"'{function.spelling}' may end without a 'return'", "end the function with 'return e;'"
            )
        memory = memref.AllocaOp.get(signature.result.ir, shape=[])
        name = _result_name(function)
        statements.result = Slot(signature.result, build.compute(memory, function, name))
    with statements.jumps.inside({Exit.RETURN}, function, "running"):
        statements.run(parts)
    results: list[SSAValue] = []
    if statements.result is not None:
        results.append(build.compute(memref.LoadOp.get(statements.result.memory, []), function))
    build.add(func.ReturnOp(*results), end or function)


def _returned_values(
    function: Node, end: Node | None, signature: Signature, expressions: Expressions
) -> list[SSAValue]:
    """The values of the `return` at the end of a function that has no other."""
    if end is not None and end.children and signature.result is None:
        expressions.discard(end.children[0])
    if signature.result is None:
        return []
    if end is None:
        raise function.error(
            f"the last statement of '{function.spelling}' is no 'return'", "end the function with 'return e;'"
        )
    value = end.children[0]
    expressions.check_order(value)
    return [expressions.build.ssa(expressions.value_as(value, signature.result), value)]
