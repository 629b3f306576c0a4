"""One function: its parameters, body and result in, an operation of the IR out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, MemRefType, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from tapeflow.analysis.source_names import set_source_name
from tapeflow.frontend.python_annotations import ArrayType, Parameter, Result, spelled_result
from tapeflow.frontend.python_arguments import ArgumentType, open_extents
from tapeflow.frontend.python_bounds import unknown
from tapeflow.frontend.python_builder import Builder
from tapeflow.frontend.python_calls import Calls, Importer
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_flow import assigned, needs, structured
from tapeflow.frontend.python_returns import first_tuple, returned_names
from tapeflow.frontend.python_scope import Scope
from tapeflow.frontend.python_source import Source
from tapeflow.frontend.python_statements import StatementsOfFunction
from tapeflow.frontend.python_types import INDEX, INT, ScalarType
from tapeflow.frontend.python_values import Array, Scalar, integer


@dataclass
class Instance:
    """A function as it was imported for one combination of argument types.

    Attributes:
        name: its symbol.
        declared: what its annotation says it returns; None if it does not say.
        returns: what it returns, one number or several or none; known once `finished`.
        written: for each parameter, whether the function changes that array; known once `finished`.
        finished: whether its body was imported.
    """

    name: str
    declared: Result | None
    returns: tuple[ScalarType, ...] = ()
    written: list[bool] = field(default_factory=list[bool])
    finished: bool = False


class FunctionMaker:
    """Imports one function.

    Args:
        importer: imports the functions that it calls.
        source: the function.
        declared: its parameters.
        types: their types.
        instance: what is to be found out about it.
        is_kernel: whether it is called from outside: then ints are i64, else `index`, and extents follow as arguments.
    """

    def __init__(
        self,
        importer: Importer,
        source: Source,
        declared: Sequence[Parameter],
        types: Sequence[ArgumentType],
        instance: Instance,
        is_kernel: bool,
    ):
        self.source = source
        self.declared = declared
        self.types = types
        self.instance = instance
        self.is_kernel = is_kernel
        self.hidden = {} if is_kernel else _hidden_extents(declared, types)
        self.names = [*(parameter.name for parameter in declared), *self.hidden.values()]
        self.block = Block(arg_types=[*(self._ir(type_) for type_ in types), *(INDEX for _ in self.hidden)])
        self.build = Builder(source, self.block)
        body = structured(source)
        self.scope = Scope(self.build, [parameter.name for parameter in declared], body)
        self.expressions = Expressions(self.build, self.scope)
        self.expressions.calls = Calls(self.expressions, importer)
        self.body = body
        self.returned = returned_names(source)

    def make(self) -> func.FuncOp:
        """The function in the IR; `instance` knows then what it returns and changes.

        Raises:
            TapeflowError: at the first part of it that the frontend does not take.
        """
        self._name_arguments()
        self._bind_parameters()
        several = first_tuple(self.source)
        if several is not None and self.is_kernel:
            raise self.source.error(
                several.value or several,
                "a kernel that returns several numbers is not supported",
                "return one number, and write the others into array parameters",
            )
        declared = () if self.instance.declared is None else self.instance.declared.types
        StatementsOfFunction(self.expressions, needs(self.body, self.returned), declared).run(self.body)
        returned = self._returned()
        with self.build.at(self.body[-1]):
            self.build.add(func.ReturnOp(*returned))
        self.build.erase_unused()
        written = self.expressions.arrays.written
        self.instance.written = [argument in written for argument in self.block.args[: len(self.declared)]]
        self.instance.finished = True
        return self._function([value.type for value in returned])

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
        return [
            self.hidden.get((position, dimension), "") if extent is None else str(extent)
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
                return self.expressions.numbers.convert(numbers[extent], INT)
            case None if not self.is_kernel:
                return numbers[self.hidden[argument.index, dimension]]
            case None:
                size = self.build.on_top(memref.DimOp(argument, self.build.index(dimension)), None)
                return Scalar(INT, size, unknown(f"len({name})", [integer(0).linear]))

    # Results.

    def _returned(self) -> list[SSAValue]:
        """What the function returns: its values.

        Raises:
            TapeflowError: not every way through it returns one, or it is not what is declared.
        """
        values = [self.scope.bindings.get(name) for name in self.returned]
        found = [value for value in values if isinstance(value, Scalar)]
        if len(found) < len(values) and any(name in assigned(self.body) for name in self.returned):
            raise self.source.error(
                self.body[-1],
                f"not every way through '{self.source.name}' returns a value",
                "let each branch end with 'return', or add one at the end",
            )
        self.instance.returns = tuple(value.type for value in found)
        self._check_result(self.instance.returns)
        with self.build.at(self.body[-1]):
            made = self.expressions.numbers.to_memory if self.is_kernel else self.build.ssa
            return [made(value) for value in found]

    def _check_result(self, returned: Sequence[ScalarType]) -> None:
        if self.instance.declared is None:
            return
        declared = self.instance.declared.types
        if len(declared) == len(returned) and all(a.is_same(b) for a, b in zip(declared, returned, strict=True)):
            return
        is_one = len(declared) == len(returned) == 1
        convert = f"convert it: 'return {declared[0]}(...)', or change" if is_one else "change"
        what = returned[0].phrase if len(returned) == 1 else f"'{spelled_result(returned)}'" if returned else "nothing"
        raise self.source.error(
            self.body[-1],
            f"'{self.source.name}' returns {what}, but is declared '-> {self.instance.declared}'",
            f"{convert} what is declared",
        )


def _hidden_extents(declared: Sequence[Parameter], types: Sequence[ArgumentType]) -> dict[tuple[int, int], str]:
    """The names of the extents that are passed beside the arguments, by the position of the array and the dimension."""
    taken = {parameter.name for parameter in declared}
    hidden: dict[tuple[int, int], str] = {}
    for position, (parameter, type_) in enumerate(zip(declared, types, strict=True)):
        for dimension in open_extents(type_):
            name = f"{parameter.name}_extent{dimension}"
            while name in taken:
                name += "_"
            hidden[position, dimension] = name
            taken.add(name)
    return hidden
