"""Functions: a Python function in, a module out that holds it and the functions it calls.

A function that is called is imported once for each combination of argument types. It takes the extents of its arrays as
further arguments of type `index`, unless its annotations name the parameters that hold them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, TypeAlias

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from tapeflow.analysis.source_names import set_source_name
from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_annotations import (
    ArrayType,
    Parameter,
    Result,
    declared_result,
    parameters,
    undeclared,
)
from tapeflow.frontend.python_bounds import unknown
from tapeflow.frontend.python_builder import Builder
from tapeflow.frontend.python_calls import Calls
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_flow import RETURN, assigned, needs, structured
from tapeflow.frontend.python_scope import Scope, known
from tapeflow.frontend.python_source import Source, quoted, source_of
from tapeflow.frontend.python_statements import StatementsOfFunction
from tapeflow.frontend.python_types import INDEX, INT, ScalarType
from tapeflow.frontend.python_values import Array, Elements, Scalar, View, described, integer

ArgumentType: TypeAlias = ScalarType | ArrayType


@dataclass
class Instance:
    """A function as it was imported for one combination of argument types.

    Attributes:
        name: its symbol.
        declared: what its annotation says it returns; None if it does not say.
        returns: what it returns, None for nothing; known once `finished`.
        written: for each parameter, whether the function changes that array; known once `finished`.
        finished: whether its body was imported.
    """

    name: str
    declared: Result | None
    returns: ScalarType | None = None
    written: list[bool] = field(default_factory=list[bool])
    finished: bool = False


class ModuleMaker:
    """Imports functions into one module."""

    def __init__(self) -> None:
        self.module = ModuleOp([])
        self._instances: dict[Any, Instance] = {}
        self._names: set[str] = set()
        self._sources: dict[FunctionType, Source] = {}

    def kernel(self, function: FunctionType) -> None:
        """Import `function` as a kernel: with the types that it declares, visible from outside.

        Raises:
            TapeflowError: at the first part of it that the frontend does not take.
        """
        source = self._source(function)
        declared = parameters(source)
        types: list[ArgumentType] = []
        for parameter in declared:
            if parameter.type is None:
                raise undeclared(source, parameter)
            types.append(parameter.type)
        instance = self._new_instance(source)
        _FunctionMaker(self, source, declared, types, instance, is_kernel=True).make()

    def _source(self, function: FunctionType) -> Source:
        if function not in self._sources:
            self._sources[function] = source_of(function)
        return self._sources[function]

    def _new_instance(self, source: Source) -> Instance:
        name, number = source.name, 0
        while name in self._names:
            number += 1
            name = f"{source.name}_{number}"
        self._names.add(name)
        return Instance(name, declared_result(source))

    # Calls.

    def call(self, node: ast.Call, function: FunctionType, expressions: Expressions) -> Scalar | None:
        """The value of a call of `function`; None if it returns nothing.

        Raises:
            TapeflowError: the arguments do not fit, or the function cannot be imported.
        """
        source = self._source(function)
        declared = parameters(source)
        arguments = _Arguments(expressions, node, source, declared)
        instance = self._instance(source, declared, arguments.types())
        returns = instance.returns
        if not instance.finished:
            if instance.declared is None:
                raise expressions.build.refuse(
                    f"{quoted(node.func)} calls itself and does not declare what it returns",
                    f"annotate it: 'def {source.name}(...) -> float:'",
                )
            returns = instance.declared.type
        written = instance.written if instance.finished else [True] * len(declared)
        arguments.check_aliases(written, is_statement=node is expressions.outermost)
        op = func.CallOp(instance.name, arguments.operands(), [] if returns is None else [returns.ir])
        expressions.build.add(op)
        expressions.arrays.written.update(arguments.changed(written))
        if returns is None:
            return None
        return expressions.arithmetic.fresh(op.results[0], returns, f"{source.name}(...)")

    def _instance(self, source: Source, declared: Sequence[Parameter], types: Sequence[ArgumentType]) -> Instance:
        key = (source.function, tuple(types))
        if key not in self._instances:
            instance = self._instances[key] = self._new_instance(source)
            _FunctionMaker(self, source, declared, types, instance, is_kernel=False).make()
        return self._instances[key]


class _FunctionMaker:
    """Imports one function.

    Args:
        importer: of the functions it calls.
        source: the function.
        declared: its parameters.
        types: their types.
        instance: what is to be found out about it.
        is_kernel: whether it is called from outside: then ints are i64, else `index`, and extents follow as arguments.
    """

    def __init__(
        self,
        importer: ModuleMaker,
        source: Source,
        declared: Sequence[Parameter],
        types: Sequence[ArgumentType],
        instance: Instance,
        is_kernel: bool,
    ):
        self.importer = importer
        self.source = source
        self.declared = declared
        self.types = types
        self.instance = instance
        self.is_kernel = is_kernel
        hidden = (
            []
            if is_kernel
            else [f"{p.name}_extent{d}" for p, t in zip(declared, types, strict=True) for d in open_extents(t)]
        )
        self.names = [*(parameter.name for parameter in declared), *hidden]
        irs = [self._ir(type_) for type_ in types]
        self.block = Block(arg_types=[*irs, *(INDEX for _ in hidden)])
        self.build = Builder(source, self.block)
        body = structured(source)
        self.scope = Scope(self.build, [parameter.name for parameter in declared], body)
        self.expressions = Expressions(self.build, self.scope)
        self.expressions.calls = Calls(self.expressions, importer)
        self.body = body

    def make(self) -> None:
        """Import the function and append it to the module."""
        self._name_arguments()
        self._bind_parameters()
        StatementsOfFunction(self.expressions, needs(self.body)).run(self.body)
        returned = self._returned()
        with self.build.at(self.body[-1]):
            self.build.add(func.ReturnOp(*returned))
        self.build.erase_unused()
        written = self.expressions.arrays.written
        self.instance.written = [argument in written for argument in self.block.args[: len(self.declared)]]
        self.instance.finished = True
        self.importer.module.body.block.add_op(self._function([value.type for value in returned]))

    def _function(self, results: Sequence[Attribute]) -> func.FuncOp:
        op = func.FuncOp(
            self.instance.name,
            (self.block.arg_types, results),
            Region(self.block),
            visibility=None if self.is_kernel else "private",
            arg_attrs=ArrayAttr([DictionaryAttr(self._attributes(position)) for position in range(len(self.names))]),
        )
        op.location = self.source.location(self.source.tree)
        return op

    def _attributes(self, position: int) -> dict[str, Attribute]:
        attributes: dict[str, Attribute] = {"tapeflow.name": StringAttr(self.names[position])}
        array = self.types[position] if position < len(self.types) else None
        if isinstance(array, ArrayType):
            attributes["tapeflow.extents"] = ArrayAttr([StringAttr(e) for e in self._extent_names(position, array)])
        return attributes

    def _extent_names(self, position: int, array: ArrayType) -> list[str]:
        name = self.names[position]
        unsaid = "" if self.is_kernel else None
        return [
            str(extent) if extent is not None else (unsaid if unsaid is not None else f"{name}_extent{dimension}")
            for dimension, extent in enumerate(array.extents)
        ]

    def _ir(self, type_: ArgumentType) -> Attribute:
        if isinstance(type_, ScalarType):
            return type_.memory_ir if self.is_kernel else type_.ir
        shape = [extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in type_.extents]
        return MemRefType(type_.element.memory_ir, shape)

    # Parameters.

    def _name_arguments(self) -> None:
        for argument, name in zip(self.block.args, self.names, strict=True):
            node = self.declared[argument.index].node if argument.index < len(self.declared) else None
            place = self.source.location(self.source.tree if node is None else node)
            argument.location = place
            set_source_name(argument, name)

    def _bind_parameters(self) -> None:
        numbers: dict[str, Scalar] = {}
        for argument, name, type_ in zip(self.block.args, self.names, self._all_types(), strict=True):
            if isinstance(type_, ScalarType):
                with self.build.at(argument.location):
                    numbers[name] = self._number(argument, name, type_)
        for argument, parameter, type_ in zip(self.block.args, self.declared, self.types, strict=False):
            with self.build.at(argument.location):
                value = (
                    numbers[parameter.name] if isinstance(type_, ScalarType) else self._array(argument, type_, numbers)
                )
                self.scope.declare(parameter.name, value, parameter.node.lineno)

    def _all_types(self) -> list[ArgumentType]:
        return [*self.types, *(INT for _ in self.names[len(self.types) :])]

    def _number(self, argument: BlockArgument, name: str, type_: ScalarType) -> Scalar:
        value: SSAValue = argument
        if argument.type != type_.ir:
            value = self.build.on_top(arith.IndexCastOp(argument, type_.ir), name)
        return Scalar(type_, value, unknown(name) if type_.kind == "int" else None)

    def _array(self, argument: BlockArgument, type_: ArrayType, numbers: Mapping[str, Scalar]) -> Array:
        name = self.names[argument.index]
        extents = [self._extent(argument, name, d, extent, numbers) for d, extent in enumerate(type_.extents)]
        return Array(name, argument, type_.element, tuple(extents))

    def _extent(
        self,
        argument: BlockArgument,
        name: str,
        dimension: int,
        extent: str | int | None,
        numbers: Mapping[str, Scalar],
    ) -> Scalar:
        match extent:
            case int():
                return integer(extent)
            case str():
                return self.expressions.arithmetic.convert(numbers[extent], INT)
            case None if not self.is_kernel:
                return numbers[f"{name}_extent{dimension}"]
            case None:
                size = self.build.on_top(memref.DimOp(argument, self.build.index(dimension)), None)
                return Scalar(INT, size, unknown(f"len({name})", [integer(0).linear]))

    # Results.

    def _returned(self) -> list[SSAValue]:
        """What the function returns: one value or none.

        Raises:
            TapeflowError: not every way through it returns one, or it is not what is declared.
        """
        value = self.scope.bindings.get(RETURN)
        if value is None:
            if RETURN in assigned(self.body):
                raise self.source.error(
                    self.body[-1],
                    f"not every way through '{self.source.name}' returns a value",
                    "let each branch end with 'return', or add one at the end",
                )
            self._check_result(None)
            return []
        assert isinstance(value, Scalar)
        self._check_result(value.type)
        self.instance.returns = value.type
        with self.build.at(self.body[-1]):
            return [self.expressions.arithmetic.to_memory(value) if self.is_kernel else self.build.ssa(value)]

    def _check_result(self, returned: ScalarType | None) -> None:
        if self.instance.declared is None:
            return
        declared = self.instance.declared.type
        fits = declared is returned is None or (declared and returned and declared.is_same(returned))
        if not fits:
            convert = f"convert it: 'return {declared}(...)', or change" if declared and returned else "change"
            raise self.source.error(
                self.body[-1],
                f"'{self.source.name}' returns {returned.phrase if returned else 'nothing'}, but is declared "
                f"'-> {declared}'",
                f"{convert} what is declared",
            )


@dataclass
class _Arguments:
    """The arguments of a call of a function that is imported.

    Attributes:
        expressions: makes their IR.
        node: the call.
        source: the function that is called.
        declared: its parameters.
        values: what is passed, one a parameter.
    """

    expressions: Expressions
    node: ast.Call
    source: Source
    declared: Sequence[Parameter]
    values: list[Scalar | View] = field(init=False)

    def __post_init__(self) -> None:
        bound = self._bound()
        self.values = [self._value(parameter, bound) for parameter in self.declared]

    def _bound(self) -> Mapping[str, Any]:
        """The expression for each parameter, or its default."""
        keywords = {keyword.arg: keyword.value for keyword in self.node.keywords if keyword.arg is not None}
        try:
            bound = inspect.signature(self.source.function).bind(*self.node.args, **keywords)
        except TypeError as error:
            raise self.expressions.build.refuse(f"'{self.source.name}': {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def _value(self, parameter: Parameter, bound: Mapping[str, Any]) -> Scalar | View:
        given = bound[parameter.name]
        if not isinstance(given, ast.expr):
            default = known(given)
            if not isinstance(default, Scalar):
                raise self.expressions.build.refuse(
                    f"the default of '{parameter.name}' is {described(default)}", "pass the argument"
                )
            return default
        value = self.expressions.operand(given)
        with self.expressions.build.at(given):
            if isinstance(value, Elements):
                value = self.expressions.arrays.materialize(value)
            self._check_whole(value, given)
            self._check_declared(parameter, value)
        return value

    def _check_whole(self, value: Scalar | View, given: ast.expr) -> None:
        if isinstance(value, View) and not value.is_whole:
            raise self.expressions.build.refuse(
                f"{quoted(given)} is a part of an array, which cannot be passed to '{self.source.name}'",
                "pass the array and its subscripts, or a copy: '.copy()'",
            )

    def _check_declared(self, parameter: Parameter, value: Scalar | View) -> None:
        declared = parameter.type
        if declared is None:
            return
        fits = (
            isinstance(value, Scalar) and declared.is_same(value.type)
            if isinstance(declared, ScalarType)
            else isinstance(value, View)
            and declared.element.is_same(value.array.element)
            and len(declared.extents) == len(value.lengths)
        )
        if not fits:
            what = described(value) if isinstance(value, Scalar) else f"{described(value)} of {value.array.element}"
            raise self.expressions.build.refuse(
                f"'{parameter.name}' of '{self.source.name}' is {what} here, but is declared {_spelled(declared)}",
                f"convert it: '{declared}(...)'" if isinstance(declared, ScalarType) else None,
            )

    def types(self) -> list[ArgumentType]:
        """The types that the function is imported for."""
        return [self._type(parameter, value) for parameter, value in zip(self.declared, self.values, strict=True)]

    def _type(self, parameter: Parameter, value: Scalar | View) -> ArgumentType:
        if isinstance(value, Scalar):
            return value.type
        stated = parameter.type.extents if isinstance(parameter.type, ArrayType) else (None,) * len(value.lengths)
        memory = value.array.memory.type
        assert isinstance(memory, MemRefType)
        extents: list[str | int | None] = []
        for dimension, (named, size) in enumerate(zip(stated, memory.get_shape(), strict=True)):
            if named is not None:
                self._check_extent(parameter, named, value.array.extents[dimension])
            extents.append(size if size != DYNAMIC_INDEX else named if isinstance(named, str) else None)
        return ArrayType(value.array.element, tuple(extents))

    def _check_extent(self, parameter: Parameter, named: str | int, actual: Scalar) -> None:
        """Refuse an array whose extent is not provably the one that the function declares."""
        if isinstance(named, str):
            position = next(k for k, other in enumerate(self.declared) if other.name == named)
            expected = self.values[position]
        else:
            expected = integer(named)
        build = self.expressions.build
        # An extent below 0 means what 0 does, which is what `len` makes of it.
        lengths = [expected, self.expressions.arithmetic.length(expected)] if isinstance(expected, Scalar) else []
        if not any(build.always_equal(length.linear, actual.linear) for length in lengths):
            raise build.refuse(
                f"'{parameter.name}' of '{self.source.name}' is declared with the extent {named}, which "
                f"{actual.linear} may not be equal to",
                "pass the array's own extent, or leave the extent out of the declaration",
            )

    def check_aliases(self, written: Sequence[bool], is_statement: bool) -> None:
        """Refuse an array that is passed twice and changed, and a change beside other expressions."""
        passed = [(v.array.memory, w) for v, w in zip(self.values, written, strict=True) if isinstance(v, View)]
        for memory, changes in passed:
            if changes and sum(other is memory for other, _ in passed) > 1:
                raise self.expressions.build.refuse(
                    f"an array that '{self.source.name}' changes is passed to it twice", "pass a copy: '.copy()'"
                )
        if not is_statement and any(changes for _, changes in passed):
            raise self.expressions.build.refuse(
                f"'{self.source.name}' changes an array, and is called inside another expression",
                "call it in a statement of its own: 't = f(...)'",
            )

    def changed(self, written: Sequence[bool]) -> list[SSAValue]:
        """The memory of the arrays that the function changes."""
        return [v.array.memory for v, w in zip(self.values, written, strict=True) if isinstance(v, View) and w]

    def operands(self) -> list[SSAValue | Operation]:
        """The operands of the call: the values, then the extents that the function does not have another way."""
        build = self.expressions.build
        operands: list[SSAValue | Operation] = [
            build.ssa(value) if isinstance(value, Scalar) else value.array.memory for value in self.values
        ]
        for value, type_ in zip(self.values, self.types(), strict=True):
            if isinstance(value, View):
                operands.extend(build.ssa(value.array.extents[dimension]) for dimension in open_extents(type_))
        return operands


def open_extents(type_: ArgumentType) -> list[int]:
    """The dimensions of an array whose extents its type does not say."""
    if isinstance(type_, ScalarType):
        return []
    return [dimension for dimension, extent in enumerate(type_.extents) if extent is None]


def _spelled(declared: ArgumentType) -> str:
    if isinstance(declared, ScalarType):
        return str(declared)
    rank = len(declared.extents)
    return f"an array of {rank} dimension{'s' * (rank != 1)} of {declared.element}"


def recursion_error(source: Source) -> TapeflowError:
    """The refusal of a function whose expressions nest deeper than Python's stack."""
    return source.error(source.tree, f"an expression in '{source.name}' is nested too deep", "split it up")
