"""Annotations: how a Python function declares the numbers and arrays that it takes.

```python
def f(n: int, x: f64["n"], A: f32["n", 3], w: np.ndarray, b: bool) -> float: ...
def f(n: int, x: Annotated[np.ndarray, "n"], A: Annotated[NDArray[np.float32], "n", 3], ...) -> float: ...
```

`f64["n", "m"]` is `Annotated[NDArray[np.float64], Extents(("n", "m"))]`, which other tools understand. Under
`from __future__ import annotations` the quotes may be left out: `f64[n, m]`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_source import Source, quoted
from tapeflow.frontend.python_types import FLOAT64, OF_CLASS, OF_DTYPE, ScalarType

MOST_DIMENSIONS = 5


@dataclass(frozen=True)
class Extents:
    """The extents of an array, one a dimension.

    Attributes:
        of: the name of an int parameter, a number, or None (or `:`) where the outermost is not said.
    """

    of: tuple[str | int | None, ...]


if TYPE_CHECKING:
    # Without extents they stand for the numbers themselves. A checker takes the strings in f64["n"] for names of types:
    # use Annotated[np.ndarray, "n"] in checked code.
    f64 = np.float64
    f32 = np.float32
    c128 = np.complex128
    c64 = np.complex64
    i64 = np.int64
    i32 = np.int32
    bool_ = np.bool_
else:

    class _Element:
        """A type of elements; with extents in brackets, the annotation of an array."""

        def __init__(self, name, scalar):
            self.__name__ = name
            self.scalar = scalar

        def __getitem__(self, extents):
            listed = extents if isinstance(extents, tuple) else (extents,)
            return Annotated[NDArray[self.scalar], Extents(tuple(None if e == slice(None) else e for e in listed))]

        def __repr__(self):
            return self.__name__

    f64 = _Element("f64", np.float64)
    f32 = _Element("f32", np.float32)
    c128 = _Element("c128", np.complex128)
    c64 = _Element("c64", np.complex64)
    i64 = _Element("i64", np.int64)
    i32 = _Element("i32", np.int32)
    bool_ = _Element("bool_", np.bool_)


@dataclass(frozen=True)
class ArrayType:
    """An array as it is declared.

    Attributes:
        element: the type of its elements.
        extents: one a dimension: the name of a parameter, a number, or None where it is not said.
    """

    element: ScalarType
    extents: tuple[str | int | None, ...]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function.

    Attributes:
        node: in the definition.
        type: as it is declared; None if it is not.
    """

    node: ast.arg
    type: ScalarType | ArrayType | None

    @property
    def name(self) -> str:
        """As in the source."""
        return self.node.arg


_SCALARS: dict[Any, ScalarType] = {
    **OF_CLASS,
    **({} if TYPE_CHECKING else {kind: OF_CLASS[kind.scalar] for kind in (f64, f32, c128, c64, i64, i32, bool_)}),
}

_QUOTES = "'\""
_HINT = (
    "write 'float', 'complex', 'int', 'bool', or for an array 'f64[\"n\", \"m\"]' or "
    '\'Annotated[np.ndarray, "n", "m"]\''
)


def parameters(source: Source) -> tuple[Parameter, ...]:
    """The parameters of a function, as far as they are declared.

    Raises:
        TapeflowError: at a parameter that is not supported, or whose annotation is not.
    """
    arguments = source.tree.args
    for star, argument in (("*", arguments.vararg), ("**", arguments.kwarg)):
        if argument is not None:
            raise source.error(argument, f"'{star}{argument.arg}' is not supported", "declare each parameter")
    listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    declared = tuple(Parameter(node, declared_type(source, node)) for node in listed)
    integers = {p.name for p in declared if isinstance(p.type, ScalarType) and p.type.kind == "int"}
    for parameter in declared:
        if isinstance(parameter.type, ArrayType):
            _check_extents(source, parameter.node, parameter.type, integers)
    return declared


def declared_type(source: Source, node: ast.arg) -> ScalarType | ArrayType | None:
    """What the annotation of a parameter declares; None if there is none."""
    if node.annotation is None:
        return None
    found = _meaning(_evaluated(source, node.annotation, source.function.__annotations__.get(node.arg)))
    if found is None:
        raise source.error(
            node.annotation, f"the annotation {quoted(node.annotation)} of '{node.arg}' is not supported", _HINT
        )
    return found


def undeclared(source: Source, parameter: Parameter) -> TapeflowError:
    """The refusal of a parameter without an annotation, where one is needed."""
    return source.error(parameter.node, f"the parameter '{parameter.name}' has no annotation", _HINT)


@dataclass(frozen=True)
class Result:
    """What a function declares to return: numbers of these types, or nothing."""

    types: tuple[ScalarType, ...]

    def __str__(self) -> str:
        return spelled_result(self.types)


def spelled_result(types: Sequence[ScalarType]) -> str:
    """The annotation of a function that returns numbers of these types."""
    match types:
        case ():
            return "None"
        case (one,):
            return str(one)
        case _:
            return f"tuple[{', '.join(map(str, types))}]"


def declared_result(source: Source) -> Result | None:
    """What a function declares to return; None if it does not say.

    Raises:
        TapeflowError: it is neither numbers nor nothing.
    """
    node = source.tree.returns
    if node is None:
        return None
    written = _evaluated(source, node, source.function.__annotations__.get("return"))
    if written is None:
        return Result(())
    parts = get_args(written) if get_origin(written) is tuple else (written,)
    found = tuple(map(_meaning, parts))
    types = tuple(type_ for type_ in found if isinstance(type_, ScalarType))
    if types and len(types) == len(found) and (len(types) > 1 or get_origin(written) is not tuple):
        return Result(types)
    raise source.error(
        node,
        f"a function that returns {quoted(node)} is not supported",
        "return 'float', 'complex', 'int', 'bool' or nothing; take an array as a parameter and write into it",
    )


def scalar_annotation(source: Source, node: ast.expr) -> ScalarType | None:
    """The type of numbers that the annotation of a variable declares; None if it declares something else."""
    found = _meaning(_evaluated(source, node, ast.unparse(node)))
    return found if isinstance(found, ScalarType) else None


def _evaluated(source: Source, node: ast.expr, written: Any) -> Any:
    """The object that an annotation is; as text (`from __future__ import annotations`) it is evaluated first."""
    if not isinstance(written, str):
        return written
    # A parameter's name stands for itself, so f64[n] is f64["n"]: tools take quotes off where they seem unneeded.
    parameters = {
        argument.arg: argument.arg for argument in ast.walk(source.tree.args) if isinstance(argument, ast.arg)
    }
    try:
        return eval(written, dict(source.names()), parameters)
    except Exception as error:
        raise source.error(
            node,
            f"the annotation {quoted(node).strip(_QUOTES)!r} cannot be evaluated: {error}",
            "import what it names at module level",
        ) from None


def _meaning(annotation: Any) -> ScalarType | ArrayType | None:
    """What an annotation declares; None if nothing that is supported."""
    try:
        if annotation in _SCALARS:
            return _SCALARS[annotation]
    except TypeError:
        return None
    if get_origin(annotation) is not Annotated:
        element = _element(annotation)
        return None if element is None else ArrayType(element, (None,))
    base, *metadata = get_args(annotation)
    element = _element(base)
    if element is None:
        return _SCALARS.get(base)
    match metadata:
        case [Extents(of=extents)]:
            return ArrayType(element, extents)
        case [()]:
            return ArrayType(element, ())
        case _:
            return ArrayType(element, tuple(metadata))


def _element(annotation: Any) -> ScalarType | None:
    """The type of the elements of `np.ndarray` or `NDArray[...]`; None for what is no array."""
    if annotation is np.ndarray:
        return FLOAT64
    # NDArray[np.float32] is np.ndarray[..., np.dtype[np.float32]], or from NumPy 2.5 on an alias of that.
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is np.ndarray:
        arguments = get_args(arguments[-1])
    elif origin is not NDArray:
        return None
    try:
        return OF_DTYPE.get(np.dtype(arguments[0])) if arguments else FLOAT64
    except TypeError:
        return FLOAT64


def _check_extents(source: Source, node: ast.arg, array: ArrayType, integers: set[str]) -> None:
    if len(array.extents) > MOST_DIMENSIONS:
        raise source.error(
            node,
            f"'{node.arg}': {len(array.extents)} dimensions are not supported",
            f"use at most {MOST_DIMENSIONS}",
        )
    for position, extent in enumerate(array.extents):
        if (wrong := _wrong_extent(position, extent, integers)) is not None:
            reason, hint = wrong
            raise source.error(node, f"'{node.arg}': {reason}", hint)


def _wrong_extent(position: int, extent: object, integers: set[str]) -> tuple[str, str] | None:
    """What is wrong with an extent, and what to do about it; None if nothing is."""
    hint = "name an int parameter, or give a number"
    match extent:
        case None:
            return ("only the outermost extent may be left open", hint) if position else None
        case bool():
            return f"the extent {extent} is not an integer", hint
        case int():
            return (f"the extent {extent} is negative", "give a number of at least 0") if extent < 0 else None
        case str() if extent in integers:
            return None
        case str():
            reason = f"the extent '{extent}' is not the name of an int parameter"
            return reason, f"add the parameter '{extent}: int'" if extent.isidentifier() else hint
        case _:
            return f"the extent {extent!r} is not supported", hint
