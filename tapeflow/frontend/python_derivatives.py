"""The functions of a user's rule: which parameters and results they must have, and how `ad.rule` calls them.

`ad.rule` wants the arguments of the function in the IR, then seeds and shadows. A Python function has its hidden
extents behind all else, so where there are some, a function around it puts the arguments in its order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, FileLineColLoc, FunctionType, IndexType, MemRefType
from xdsl.ir import Operation, SSAValue

from tapeflow.dialects.ad import expected_jvp, expected_vjp
from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_annotations import ArrayType, Parameter, spelled_result
from tapeflow.frontend.python_arguments import ArgumentType, open_extents
from tapeflow.frontend.python_source import Positioned, Source
from tapeflow.frontend.python_types import ScalarType

_EXPECTED = {"vjp": expected_vjp, "jvp": expected_jvp}


@dataclass(frozen=True)
class Ruled:
    """A function with a rule, as it was imported.

    Attributes:
        source: its text.
        declared: its parameters.
        types: their types.
        returns: the types of what it returns.
        made: it in the IR.
    """

    source: Source
    declared: Sequence[Parameter]
    types: Sequence[ArgumentType]
    returns: Sequence[ScalarType]
    made: func.FuncOp

    def position(self, name: str) -> int:
        """That of the parameter called `name`."""
        return [parameter.name for parameter in self.declared].index(name)

    def stated(self, position: int, dimension: int) -> int | str | None:
        """The extent that a parameter declares: a number, or that of which parameter, as text of its position."""
        array = self.declared[position].type
        return _positioned(self.declared, array.extents[dimension]) if isinstance(array, ArrayType) else None

    def size(self, position: int, dimension: int) -> int | None:
        """The extent of an array where the IR has it."""
        array = self.made.function_type.inputs.data[position]
        assert isinstance(array, MemRefType)
        size = array.get_shape()[dimension]
        return None if size == DYNAMIC_INDEX else size


@dataclass(frozen=True)
class Wanted:
    """A parameter that a derivative must have.

    Attributes:
        name: that it could have.
        type: of the number; None for an array.
        like: the position of the array of the function that it is, or is a shadow of.
    """

    name: str
    type: ScalarType | None
    like: int = -1


class Derivative:
    """The vjp or jvp that a rule gives.

    Args:
        source: its text.
        declared: its parameters.
        of: what it is a derivative of.
        mode: vjp or jvp.
    """

    def __init__(self, source: Source, declared: Sequence[Parameter], of: Ruled, mode: str):
        self.source = source
        self.declared = declared
        self.of = of
        self.mode = mode
        self.wanted = _wanted(of, mode)

    @property
    def type(self) -> FunctionType:
        """That `ad.rule` wants."""
        return _EXPECTED[self.mode](self.of.made.function_type)

    def types(self) -> list[ArgumentType]:
        """Those of its parameters.

        Raises:
            TapeflowError: it declares others.
        """
        if len(self.declared) != len(self.wanted):
            raise self._misfit(self.source.tree, f"it takes {len(self.declared)} parameters, not {len(self.wanted)}")
        return [self._type(parameter, wanted) for parameter, wanted in zip(self.declared, self.wanted, strict=True)]

    def _type(self, parameter: Parameter, wanted: Wanted) -> ArgumentType:
        declared = parameter.type
        if wanted.type is not None:
            if declared is None:
                return wanted.type
            if isinstance(declared, ScalarType) and declared.is_same(wanted.type):
                return declared if declared.kind == wanted.type.kind == "float" else wanted.type
            raise self._misfit(parameter.node, f"'{parameter.name}' is not declared {wanted.type}")
        array = self.of.types[wanted.like]
        assert isinstance(array, ArrayType)
        rank = len(array.extents)
        stated: Sequence[str | int | None] = (None,) * rank
        if declared is not None:
            if (
                not isinstance(declared, ArrayType)
                or len(declared.extents) != rank
                or not declared.element.is_same(array.element)
            ):
                primal = self.of.declared[wanted.like].name
                raise self._misfit(parameter.node, f"'{parameter.name}' is not declared as an array like '{primal}'")
            stated = declared.extents
        extents = [self._extent(parameter, wanted.like, dimension, said) for dimension, said in enumerate(stated)]
        return ArrayType(array.element, tuple(extents))

    def _extent(self, parameter: Parameter, like: int, dimension: int, said: str | int | None) -> str | int | None:
        size = self.of.size(like, dimension)
        same = said is None or said == size or _positioned(self.declared, said) == self.of.stated(like, dimension)
        if not same:
            primal = self.of.declared[like].name
            raise self.source.error(
                parameter.node,
                f"'{parameter.name}' is declared with the extent {said}, which that of '{primal}' of "
                f"'{self.of.source.name}' may not be equal to",
                "declare the two alike, or leave the outermost extent out: 'f64[:]'",
            )
        return size if size is not None else said if isinstance(said, str) else None

    def function(self, name: str, made: func.FuncOp, types: Sequence[ArgumentType], at: FileLineColLoc) -> func.FuncOp:
        """What `ad.rule` calls: the derivative as it was `made` of `types`, or one around it called `name`.

        Raises:
            TapeflowError: it does not return what it must.
        """
        if list(made.function_type.outputs) != list(self.type.outputs):
            raise self._misfit(self.source.tree, "it does not return what it must")
        if not any(map(open_extents, (*self.of.types, *types))):
            return made
        around = func.FuncOp(name, self.type, visibility="private")
        around.location = at
        block = around.body.block
        hidden = [(k, dimension) for k, type_ in enumerate(self.of.types) for dimension in open_extents(type_)]
        own = [wanted.name for wanted in self.wanted[: len(self.of.declared)]]
        names = [*own, *(f"{own[k]}_extent{dimension}" for k, dimension in hidden)]
        names += [wanted.name for wanted in self.wanted[len(own) :]]
        for argument, called in zip(block.args, names, strict=True):
            argument.location = at
            argument.name_hint = called
        extents = _Extents(self.of, block.args, dict(zip(hidden, block.args[len(own) :], strict=False)))

        def add(op: Operation) -> SSAValue:
            op.location = at
            block.add_op(op)
            return op.results[0]

        operands: list[SSAValue] = [*block.args[: len(own)], *block.args[len(own) + len(hidden) :]]
        for wanted, type_ in zip(self.wanted, types, strict=True):
            for dimension in open_extents(type_):
                extent = extents.of(wanted.like, dimension)
                is_index = isinstance(extent.type, IndexType)
                operands.append(extent if is_index else add(arith.IndexCastOp(extent, IndexType())))
        call = func.CallOp(made.sym_name.data, operands, list(self.type.outputs))
        call.location = at
        block.add_op(call)
        returned = func.ReturnOp(*call.results)
        returned.location = at
        block.add_op(returned)
        return around

    def _misfit(self, node: Positioned, reason: str) -> TapeflowError:
        return self.source.error(
            node,
            f"'{self.source.name}' does not fit as the {self.mode} of '{self.of.source.name}': {reason}",
            f"declare it as '{self._spelled()}'",
        )

    def _spelled(self) -> str:
        """`def g_vjp(x: float, n: int, g_b: float) -> float:`."""
        parameters = [f"{wanted.name}: {self._spelled_type(wanted)}" for wanted in self.wanted]
        return f"def {self.source.name}({', '.join(parameters)}) -> {spelled_result(_results(self.of, self.mode))}:"

    def _spelled_type(self, wanted: Wanted) -> str:
        if wanted.type is not None:
            return str(wanted.type)
        array, declared = self.of.types[wanted.like], self.of.declared[wanted.like].type
        assert isinstance(array, ArrayType)
        extents = (declared if isinstance(declared, ArrayType) else array).extents
        listed = ", ".join(
            ":" if extent is None else f'"{extent}"' if isinstance(extent, str) else str(extent) for extent in extents
        )
        return f"{_short(array.element)}[{listed or '()'}]"


@dataclass(frozen=True)
class _Extents:
    """The extents of the arrays of a function, among the arguments of what `ad.rule` calls."""

    ruled: Ruled
    arguments: Sequence[SSAValue]
    hidden: Mapping[tuple[int, int], SSAValue]

    def of(self, position: int, dimension: int) -> SSAValue:
        """That of an array, which the IR does not have."""
        array = self.ruled.types[position]
        assert isinstance(array, ArrayType)
        named = array.extents[dimension]
        return (
            self.arguments[self.ruled.position(named)] if isinstance(named, str) else self.hidden[position, dimension]
        )


def _positioned(declared: Sequence[Parameter], extent: str | int | None) -> str | int | None:
    """An extent by the position of the parameter that it names, which may have another name in another function."""
    if not isinstance(extent, str):
        return extent
    return f"parameter {[parameter.name for parameter in declared].index(extent)}"


def _wanted(of: Ruled, mode: str) -> list[Wanted]:
    own = [
        Wanted(parameter.name, type_ if isinstance(type_, ScalarType) else None, position)
        for position, (parameter, type_) in enumerate(zip(of.declared, of.types, strict=True))
    ]
    suffix = "b" if mode == "vjp" else "d"
    if mode == "vjp":
        floats = [type_ for type_ in of.returns if _is_active(type_)]
        numbers = (
            [f"{of.source.name}_b"] if len(floats) == 1 else [f"{of.source.name}_b{k}" for k in range(len(floats))]
        )
        more = [Wanted(name, type_) for name, type_ in zip(numbers, floats, strict=True)]
    else:
        more = [Wanted(f"{each.name}_d", each.type) for each in own if each.type is not None and _is_active(each.type)]
    arrays = [
        Wanted(f"{each.name}_{suffix}", None, each.like)
        for each, type_ in zip(own, of.types, strict=True)
        if isinstance(type_, ArrayType) and _is_active(type_.element)
    ]
    return [*own, *more, *arrays]


def _results(of: Ruled, mode: str) -> list[ScalarType]:
    if mode == "jvp":
        return [*of.returns, *filter(_is_active, of.returns)]
    return [type_ for type_ in of.types if isinstance(type_, ScalarType) and _is_active(type_)]


def _is_active(type_: ScalarType) -> bool:
    return type_.kind in ("float", "complex")


def _short(element: ScalarType) -> str:
    """`f64`, as annotations of arrays call it."""
    if element.kind == "bool":
        return "bool_"
    return f"{element.kind[0]}{element.bits * (2 if element.kind == 'complex' else 1)}"
