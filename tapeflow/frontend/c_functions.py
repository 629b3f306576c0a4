"""Functions: a C function's definition in, a `func.func` out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    MemRefType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Region, SSAValue

from tapeflow.analysis.user_rules import READS_ONLY
from tapeflow.frontend.c_arrays import declare_array, is_constant_table
from tapeflow.frontend.c_bindings import Fixed, Pointer, RecordArray, Slot, array_of
from tapeflow.frontend.c_builder import INDEX, IRBuilder, Value, suggest_name
from tapeflow.frontend.c_effects import body, changes, is_addressed, moves, variable
from tapeflow.frontend.c_expressions import Expressions
from tapeflow.frontend.c_flow import Exit, all_complete, exits_of
from tapeflow.frontend.c_loops import counters, counters_used_after
from tapeflow.frontend.c_records import Record, RecordArrayType, layout
from tapeflow.frontend.c_signatures import (
    Parameter,
    Signature,
    is_table,
    refuse_complex,
    refuse_structs,
    returned,
)
from tapeflow.frontend.c_statements import Statements
from tapeflow.frontend.c_structs import member_name
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
    if isinstance(signature.result, Record):
        statements.returned = arguments.returned_struct(signature.result)
    for table in _constant_tables(statements_of):
        expressions.bindings[table] = declare_array(table, expressions)
    _define(function, signature, statements)
    return op


def import_prototype(variant: Variant, signatures: Mapping[Node, Signature]) -> func.FuncOp:
    """The IR of a function that is declared, and defined elsewhere: it has no body.

    Args:
        variant: its declaration, and the shapes that it is called with.
        signatures: of the functions that the file names, itself among them.

    Raises:
        TapeflowError: it takes or returns structs or complex numbers.
    """
    signature = signatures[variant.function]
    refuse_structs(variant.function, signature)
    refuse_complex(variant.function, signature)
    like = _declare(variant.function, signature, variant.parts, variant.name)
    op = func.FuncOp(variant.name, like.function_type, Region(), visibility="private")
    only_read = [
        position
        for position, parameter in enumerate(signature.parameters)
        if isinstance(parameter.type, ArrayType) and parameter.type.const
    ]
    if only_read:
        op.attributes[READS_ONLY] = DenseArrayBase.from_list(i64, only_read)
    op.location = variant.function.location
    return op


def _declare(function: Node, signature: Signature, parts: Parts, name: str) -> func.FuncOp:
    results = [signature.result.ir] if isinstance(signature.result, Scalar) else []
    passed: set[int] = set()
    arguments = [
        argument
        for position, parameter in enumerate(signature.parameters)
        for argument in _arguments(parameter, parts.get(position), passed)
    ]
    if isinstance(signature.result, Record):
        arguments += _returned_struct(function, signature)
    _check_names(arguments)
    op = func.FuncOp(
        name,
        ([argument.type for argument in arguments], results),
        visibility="private" if parts or function.storage_class == "STATIC" else None,
        arg_attrs=ArrayAttr([argument.attributes for argument in arguments]),
        res_attrs=ArrayAttr([_result_attributes(function)]) if results else None,
    )
    op.location = function.location
    for argument, made in zip(op.body.block.args, arguments, strict=True):
        argument.location = (made.parameter.declaration if made.parameter else function).named_location(made.name)
        suggest_name(argument, made.name)
    return op


def _check_names(arguments: Sequence[_Argument]) -> None:
    """Refuse parameters whose names are those that the numbers of a struct get."""
    names = [argument.name for argument in arguments if not isinstance(argument.type, IndexType)]
    for argument in arguments:
        if argument.parameter is not None and names.count(argument.name) > 1:
            raise argument.parameter.declaration.error(
                f"two parameters are called '{argument.name}' where a struct is taken apart, which is not supported",
                "rename one of them",
            )


@dataclass(frozen=True)
class _Argument:
    """An argument of a `func.func`, which stands for `parameter`, or a part of what is passed for it, or a result."""

    parameter: Parameter | None
    name: str
    type: Attribute
    attributes: DictionaryAttr


def _arguments(parameter: Parameter, part: Part | None, passed: set[int]) -> Iterator[_Argument]:
    """What stands for a parameter; `passed` are the memories that stand for earlier ones, and grows."""
    name = parameter.name
    if part is None:
        yield from _whole_arguments(parameter)
        return
    for number, (memory_name, memory) in zip(part.memories, _memories(name, part.array), strict=True):
        if number not in passed:
            passed.add(number)
            attributes = DictionaryAttr({"tapeflow.name": StringAttr(memory_name)})
            yield _Argument(parameter, memory_name, memory, attributes)
    if part.array.rank:
        for index in (*(f"{name}_row{number}" for number in range(part.rows)), f"{name}_at"):
            yield _Argument(parameter, index, INDEX, DictionaryAttr({"tapeflow.name": StringAttr(index)}))


def _memories(name: str, array: ArrayType | RecordArrayType) -> Iterator[tuple[str, MemRefType]]:
    """The memories that an array called `name` lies in, with what each is called."""
    if isinstance(array, ArrayType):
        yield name, array.ir
        return
    scalars = array.record.scalars
    if array.folding is None:
        names = [member_name(name, leaf.path) for leaf in array.record.leaves]
    else:
        names = [name] if len(scalars) == 1 else [f"{name}_{scalar.name.replace(' ', '_')}" for scalar in scalars]
    yield from zip(names, array.memories, strict=True)


def _whole_arguments(parameter: Parameter) -> Iterator[_Argument]:
    attributes: dict[str, Attribute] = {}
    if isinstance(parameter.type, Scalar):
        attributes["tapeflow.name"] = StringAttr(parameter.name)
        yield _Argument(parameter, parameter.name, parameter.type.ir, DictionaryAttr(attributes))
        return
    if parameter.type.const:
        attributes["tapeflow.const"] = UnitAttr()
    if isinstance(parameter.type, RecordArrayType):
        attributes["tapeflow.record"] = DictionaryAttr(
            {"name": StringAttr(parameter.name), **layout(parameter.type.record)}
        )
    for name, memory in _memories(parameter.name, parameter.type):
        # The last dimension of structs is one struct.
        last = map(str, memory.get_shape()[len(parameter.extents) :])
        extents = ArrayAttr([StringAttr(extent) for extent in (*parameter.extents, *last)])
        named = DictionaryAttr({"tapeflow.name": StringAttr(name), "tapeflow.extents": extents, **attributes})
        yield _Argument(parameter, name, memory, named)


def _returned_struct(function: Node, signature: Signature) -> Iterator[_Argument]:
    """The memory of the struct that a function returns, which its caller provides."""
    assert isinstance(signature.result, Record)
    name = _result_name(function)
    if name in [parameter.name for parameter in signature.parameters]:
        name = "return"
    for memory_name, memory in _memories(name, RecordArrayType(signature.result, ())):
        yield _Argument(None, memory_name, memory, DictionaryAttr({"tapeflow.name": StringAttr(memory_name)}))


def _result_attributes(function: Node) -> DictionaryAttr:
    return DictionaryAttr({"tapeflow.name": StringAttr(_result_name(function))})


def _result_name(function: Node) -> str:
    """The name of what is returned: a variable's, if it is the same everywhere, or `return`."""
    parts = body(function).walk() if function.is_definition else ()
    values = [node.children[0] for node in parts if node.kind == "RETURN_STMT" and node.children]
    named = {variable(value) for value in values}
    (only,) = named if len(named) == 1 else (None,)
    return "return" if only is None else only.spelling


@dataclass
class _Arguments:
    """The arguments of a `func.func` that no parameter has taken yet, and the arrays of those that have."""

    left: deque[BlockArgument]
    passed: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def bind(self, position: int, parameter: Parameter, part: Part | None, statements: Statements) -> None:
        """Let the expressions know a parameter, which takes its share of the arguments."""
        declaration, bindings = parameter.declaration, statements.expressions.bindings
        if not isinstance(parameter.type, Scalar):
            pointer = self._pointer(parameter.type, part)
            if parameter.is_struct:
                changed = declaration in statements.assigned
                records = statements.expressions.records
                bindings[declaration] = records.copied(pointer, declaration, parameter.name) if changed else pointer
            elif moves(declaration):
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

    def returned_struct(self, record: Record) -> RecordArray:
        """The memory of the struct that the function returns."""
        return RecordArray(RecordArrayType(record, ()), tuple(self.left.popleft() for _ in record.leaves))

    def _pointer(self, array_type: ArrayType | RecordArrayType, part: Part | None) -> Pointer:
        if part is None:
            count = len(array_type.memories) if isinstance(array_type, RecordArrayType) else 1
            return Pointer(array_of(array_type, tuple(self.left.popleft() for _ in range(count))))
        for number in part.memories:
            if number not in self.passed:
                self.passed[number] = self.left.popleft()
        array = array_of(part.array, tuple(self.passed[number] for number in part.memories))
        if part.array.rank == 0:
            return Pointer(array)
        row = tuple(self.left.popleft() for _ in range(part.rows))
        return Pointer(array, row, self.left.popleft(), part.flat)


def _constant_tables(statements_of: Node) -> list[Node]:
    """The global arrays of constants that the function uses, in order of first use."""
    used = dict.fromkeys(named for node in statements_of.walk() if (named := variable(node)) is not None)
    return [named for named in used if named.is_global and is_table(named.type) and is_constant_table(named)]


def _define(function: Node, signature: Signature, statements: Statements) -> None:
    """Make the IR of the function's statements, the `func.return` at its end included."""
    build, parts = statements.build, body(function).children
    end = returned(function)
    if Exit.RETURN not in exits_of(parts if end is None else parts[:-1]):
        statements.run(parts if end is None else parts[:-1])
        values = _returned_values(function, end, signature, statements)
        build.add(func.ReturnOp(*values), end or function)
        return
    if signature.result is not None and all_complete(parts):
        raise function.error(f"'{function.spelling}' may end without a 'return'", "end the function with 'return e;'")
    if isinstance(signature.result, Scalar):
        memory = memref.AllocaOp.get(signature.result.ir, shape=[])
        name = _result_name(function)
        statements.result = Slot(signature.result, build.compute(memory, function, name))
    with statements.jumps.inside({Exit.RETURN}, function, "running"):
        statements.run(parts)
    results: list[SSAValue] = []
    if statements.result is not None:
        results.append(build.compute(memref.LoadOp.get(statements.result.memory, []), function))
    build.add(func.ReturnOp(*results), end or function)


def _returned_values(function: Node, end: Node | None, signature: Signature, statements: Statements) -> list[SSAValue]:
    """The values of the `return` at the end of a function that has no other."""
    expressions = statements.expressions
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
    if isinstance(signature.result, Record):
        statements.return_struct(value)
        return []
    return [expressions.build.ssa(expressions.value_as(value, signature.result), value)]
